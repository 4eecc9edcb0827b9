// The part of a pass that one thread works on, and its visits of rows of many lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "pegasos/solver/dual.hpp"

namespace pegasos {

// What one thread works on: its share of the list, its w and b, and what it met.
struct Part {
  Sampler order;
  const std::uint32_t* rows;  // what the order counts; null: the order is of the rows themselves
  std::uint8_t* leaving;
  double* W;  // of the group's lanes
  std::int64_t stride;
  double* b;  // of all lanes
  LanePass* passes;
  Subproblem* subproblem;  // null with several lanes
};

// The visits of a part, many lanes at a time.
template <class L>
class Visitor {
 public:
  Visitor(L loss, const ProblemView& problem, const DualState& state, LaneRange lanes)
      : loss_(loss),
        problem_(problem),
        state_(state),
        first_(lanes.first),
        lanes_(lanes.last - lanes.first),
        width_(lanes.width()),
        products_(static_cast<std::size_t>(width_)),
        factors_(static_cast<std::size_t>(width_)),
        inverse_(static_cast<std::size_t>(width_)) {
    for (std::int64_t k = 0; k < lanes_; ++k) inverse_[k] = 1.0 / problem.s[first_ + k];
  }

  void visit(const Part& part, const DualRows& visits) {
    constexpr std::int64_t lead = kRowsAheadPrefetched;
    for (std::int64_t i = 0; i < visits.count; ++i) {
      if (visits.prefetch && i + lead < visits.count) prefetch(visits.rows[i + lead]);
      visits.settled[i] = visit(part, visits.rows[i]);
    }
  }

 private:
  // A row, and what is kept of it elsewhere.
  void prefetch(std::int64_t row) const {
    problem_.rows.prefetch(row);
    const std::int64_t at = row * problem_.lanes + first_;
    __builtin_prefetch(state_.duals + at, 1, 2);
    const Sides& sides = problem_.sides;
    __builtin_prefetch(sides.labels + row * sides.row_stride + first_ * sides.lane_stride, 0, 2);
    __builtin_prefetch(problem_.squared_norms + row, 0, 2);
  }

  bool visit(const Part& part, std::int64_t row) {
    problem_.rows.dot(row, part.W, part.stride, width_, products_.data());
    bool moved = false;
    bool settled = true;
    for (std::int64_t k = 0; k < lanes_; ++k) {
      factors_[k] = 0.0;
      const std::int64_t lane = first_ + k;
      const int y = problem_.side(row, lane);
      if (y == 0) continue;
      const double b = part.b != nullptr ? part.b[lane] : 0.0;
      const double pull = part.b != nullptr ? state_.pull[lane] : 0.0;
      const double change =
          dual_step(loss_, problem_.offset(row, lane) - y * (products_[k] + b),
                    problem_.cost(row, lane, y), problem_.squared_norms[row] * inverse_[k] + pull,
                    state_.duals[row * problem_.lanes + lane], part.passes[lane], settled);
      if (change == 0.0) continue;
      factors_[k] = change * y * inverse_[k];
      if (part.b != nullptr) part.b[lane] += change * y * pull;
      moved = true;
    }
    if (moved) problem_.rows.axpy(row, factors_.data(), part.W, part.stride, width_);
    return settled;
  }

  L loss_;
  const ProblemView& problem_;
  const DualState& state_;
  std::int64_t first_;
  std::int64_t lanes_;
  std::int64_t width_;
  std::vector<double> products_;
  std::vector<double> factors_;
  std::vector<double> inverse_;  // 1 / s
};

}  // namespace pegasos
