// A list that several threads visit: each has rows and a copy of w of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "dual_visitor.hpp"
#include "pegasos/parallel.hpp"

namespace pegasos {

// After every round all copies of w are the same to the last bit: so a pause between rounds changes
// nothing.
class DualTeam {
 public:
  DualTeam(const ProblemView& problem, const DualState& state, const DualGroup& group,
           std::int64_t threads)
      : problem_(problem),
        state_(state),
        group_(group),
        size_(problem.rows.weight_rows() * group.stride),
        copies_(static_cast<std::size_t>(threads * size_)),
        intercepts_(static_cast<std::size_t>(threads * problem.stride())),
        passes_(static_cast<std::size_t>((threads - 1) * problem.lanes)),
        subproblems_(static_cast<std::size_t>(threads)),
        losses_(static_cast<std::size_t>(threads * kApart)),
        team_(threads) {}

  // `parts` of the threads, each with the group's own w and b, and the passes of the state.
  void begin(std::vector<Part> parts) {
    parts_ = std::move(parts);
    for (std::int64_t p = 0; state_.b != nullptr && p < count(); ++p) {
      std::copy(state_.b, state_.b + problem_.stride(), intercepts(p));
    }
    for (std::int64_t p = 1; p < count(); ++p) {
      Part& part = parts_[p];
      part.W = copy(p);
      if (state_.b != nullptr) part.b = intercepts(p);
      part.passes = passes_.data() + (p - 1) * problem_.lanes;
      for (std::int64_t k = 0; k < problem_.lanes; ++k) {
        part.passes[k] = state_.passes[k];
        part.passes[k].gap = part.passes[k].rise = 0.0;
      }
      if (part.subproblem != nullptr) part.subproblem = &subproblems_[p].subproblem;
    }
    team_.run([&](std::int64_t p) { std::copy(group_.W, group_.W + size_, copy(p)); });
  }

  // visit(part, p), then the changes of w are added up.
  template <class Visit>
  void round(const Visit& visit) {
    team_.run([&](std::int64_t p) { visit(parts_[p], p); });
    team_.run([&](std::int64_t p) { merge(p, losses_.data() + p * kApart); });
    if (state_.b != nullptr) merge_intercepts();
    for (double& lost : losses_) {
      // Lanes that share a pass are few, and their s alike.
      state_.passes[group_.lanes.first].lost += problem_.s[group_.lanes.first] * lost;
      lost = 0.0;
    }
    collect();
  }

 private:
  static constexpr std::int64_t kApart = 16;  // no two threads write to one cache line
  struct alignas(128) OwnSubproblem {
    Subproblem subproblem{};
  };

  std::int64_t count() const { return static_cast<std::int64_t>(parts_.size()); }

  // Of w and b: the first are those of the round's beginning.
  double* copy(std::int64_t p) { return copies_.data() + p * size_; }
  double* intercepts(std::int64_t p) { return intercepts_.data() + p * problem_.stride(); }

  // What the other threads met in a round.
  void collect() {
    for (std::int64_t p = 1; p < count(); ++p) {
      Subproblem& subproblem = subproblems_[p].subproblem;
      for (std::int64_t i = 0; i < subproblem.count; ++i) {
        add_to_subproblem(*group_.subproblem, subproblem.rows[i], subproblem.sizes[i]);
      }
      subproblem = {};
      for (std::int64_t k = group_.lanes.first; k < group_.lanes.last; ++k) {
        LanePass& pass = state_.passes[k];
        LanePass& met = parts_[p].passes[k];
        pass.gap += met.gap;
        pass.rise += met.rise;
        pass.up = std::max(pass.up, met.up);
        pass.down = std::max(pass.down, met.down);
        met.gap = met.rise = 0.0;
      }
    }
  }

  // Adds up the changes to share p of the weights; what the changes lose of D together is
  // s (|sum of changes|^2 - sum of |change|^2) / 2, here for s = 1 and all lanes.
  void merge(std::int64_t p, double* lost) {
    double* base = copy(0);
    const std::int64_t end = share_begin(size_, count(), p + 1);
    double squares = 0.0;
    for (std::int64_t j = share_begin(size_, count(), p); j < end; ++j) {
      double change = group_.W[j] - base[j];
      double apart = change * change;
      for (std::int64_t q = 1; q < count(); ++q) {
        const double other = parts_[q].W[j] - base[j];
        change += other;
        apart += other * other;
      }
      squares += change * change - apart;
      base[j] += change;
      for (std::int64_t q = 0; q < count(); ++q) parts_[q].W[j] = base[j];
    }
    *lost += squares / 2.0;
  }

  void merge_intercepts() {
    double* base = intercepts(0);
    for (std::int64_t k = group_.lanes.first; k < group_.lanes.last; ++k) {
      double sum = state_.b[k];
      for (std::int64_t q = 1; q < count(); ++q) sum += parts_[q].b[k] - base[k];
      for (std::int64_t q = 0; q < count(); ++q) parts_[q].b[k] = sum;
      base[k] = sum;
    }
  }

  const ProblemView& problem_;
  const DualState& state_;
  const DualGroup& group_;
  std::vector<Part> parts_;
  std::int64_t size_;
  std::vector<double> copies_;
  std::vector<double> intercepts_;
  std::vector<LanePass> passes_;
  std::vector<OwnSubproblem> subproblems_;
  std::vector<double> losses_;
  Team team_;
};

}  // namespace pegasos
