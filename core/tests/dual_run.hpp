// A run of dual coordinate ascent, and what it has reached.
#pragma once

#include <algorithm>

#include "pegasos/solver/dual.hpp"
#include "runs.hpp"

namespace toy {

struct DualRun {
  explicit DualRun(const ToyProblem& given, bool shrinks = false, int64_t group_count = 1)
      : problem(&given),
        shrink(shrinks),
        groups(group_count),
        W(given.weights_size()),
        duals(given.pairs()),
        passes(static_cast<std::size_t>(given.view.lanes)),
        cursors(static_cast<std::size_t>(groups)),
        orders(static_cast<std::size_t>(groups * given.view.threads)),
        rows(static_cast<std::size_t>(groups * given.view.n())),
        chunks(rows.size()),
        leaving(rows.size()) {
    for (LanePass& pass : passes)
      pass.last_gap = pass.last_up = pass.last_down = std::numeric_limits<double>::infinity();
    for (GroupCursor& cursor : cursors) {
      cursor.recall = 1;
      cursor.rounds = kRounds;
    }
  }
  void set_free() {
    const auto stride = static_cast<std::size_t>(problem->stride());
    b.assign(stride, 0.0);
    centre.assign(stride, 0.0);
    pull.assign(stride, 0.05);
  }

  void set_second_order() {
    const int64_t size = problem->view.n() + problem->view.rows.weight_rows();
    slots.assign(static_cast<std::size_t>(kSpanSlots * size), 0.0);
    slot_sums.assign(static_cast<std::size_t>(2 * kSpanSlots), 0.0);
    cursors[0].known = -1;
    passes[0].reach = 1.0;
  }

  bool advance(const Budget& budget) {
    DualState state{duals.data(), nullptr, nullptr, nullptr, passes.data()};
    if (!b.empty()) {
      state.b = b.data();
      state.centre = centre.data();
      state.pull = pull.data();
    }
    const ProblemView& view = problem->view;
    std::vector<DualGroup> all;
    for (int64_t g = 0; g < groups; ++g) {
      const LaneRange lanes =
          groups > 1 ? lane_range(view.lanes, groups, g) : LaneRange{0, view.lanes};
      all.push_back({.lanes = lanes,
                     .W = W.data() + lanes.first,
                     .stride = view.stride(),
                     .cursor = cursors.data() + g,
                     .orders = orders.data() + g * view.threads,
                     .rows = rows.data() + g * view.n(),
                     .chunks = chunks.data() + g * view.n(),
                     .leaving = leaving.data() + g * view.n(),
                     .slots = slots.empty() ? nullptr : slots.data(),
                     .slot_sums = slot_sums.empty() ? nullptr : slot_sums.data(),
                     .knot = slots.empty() ? nullptr : &knot,
                     .near = near});
    }
    const DualOptions options{23, 2, 1e9, false, view.threads, shrink, false, goal};
    return pegasos::advance(view, options, state, all.data(), groups, budget);
  }
  void epochs(int64_t count) {
    advance({kNever, cursors[0].seen + count * problem->view.n(), kNever});
  }
  std::string bytes() const {
    return bytes_of(W, duals, b, centre, passes, cursors, orders, rows, chunks, leaving, slots,
                    slot_sums, std::vector<Knot>{knot});
  }

  static constexpr int64_t kRounds = 3;
  const ToyProblem* problem;
  bool shrink;
  double goal = 0.0;
  int64_t groups;
  std::vector<double> W, duals, b, centre, pull;
  std::vector<LanePass> passes;
  std::vector<GroupCursor> cursors;
  std::vector<ThreadOrder> orders;
  std::vector<std::uint32_t> rows, chunks;
  std::vector<std::uint8_t> leaving;
  std::vector<double> slots, slot_sums;
  Knot knot{};
  NearRows* near = nullptr;
};

// s/2 |w|^2 + sum c max(0, o - y w.x) and sum o a - s/2 |w|^2
inline std::pair<double, double> primal_and_dual(const ToyProblem& problem, const DualRun& run,
                                                 int64_t k) {
  const int64_t stride = problem.stride();
  double norm = 0.0;
  for (int64_t j = 0; j <= problem.view.rows.d(); ++j) {
    norm += run.W[j * stride + k] * run.W[j * stride + k];
  }
  double primal = problem.s[k] / 2.0 * norm;
  double dual = -primal;
  for (int64_t i = 0; i < problem.view.n(); ++i) {
    const int y = problem.view.side(i, k);
    if (y == 0) continue;
    const double offset = problem.view.offset(i, k);
    const double margin = y * problem.data.dot(i, run.W, stride, k);
    primal += problem.cost(i, k) * std::max(0.0, offset - margin);
    dual += offset * run.duals[i * problem.view.lanes + k];
  }
  return {primal, dual};
}

// The largest distance of w from w(a).
inline double apart(const ToyProblem& problem, const DualRun& run) {
  DualRun fresh(problem);
  for (int64_t i = 0; i < problem.view.n(); ++i) {
    const double factor = run.duals[i] * problem.view.side(i, 0) / problem.s[0];
    problem.view.rows.axpy(i, &factor, fresh.W.data(), 1);
  }
  double most = 0.0;
  for (std::size_t p = 0; p < run.W.size(); ++p) {
    most = std::max(most, std::abs(run.W[p] - fresh.W[p]));
  }
  return most;
}

}  // namespace toy
