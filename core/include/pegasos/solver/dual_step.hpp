// One coordinate's step of dual ascent, and a run of such steps over rows of a single lane.
//
// The functions are static, without any template of the standard library: the row kernels, which
// include this, are compiled for several instruction sets.
#pragma once

#include <cstdint>

#include "pegasos/columns.hpp"
#include "pegasos/loss.hpp"
#include "pegasos/solver/dual_subproblem.hpp"

namespace pegasos {

// Of one lane. A violation is how far the gradient is from letting the dual move up, or down.
struct LanePass {
  double gap;  // P - D as met in the pass in hand: the rows that are not in the list add nothing
  double up;   // the largest violations met
  double down;
  double rise;      // of D by the steps taken, each thread for itself
  double lost;      // of it, because their changes add up
  double last_gap;  // that of the last whole pass
  double last_up;  // a share of its largest violations: rows further from moving may leave the list
  double last_down;
  double whole_gap;  // that of the last pass over all rows
  double reach;      // of the next move between passes (dual_span.hpp)
};

// Moves the dual to its maximiser, and returns by how much. `q` is the curvature that the row
// brings; `settled` becomes false unless the dual is at a bound, and far enough from leaving it.
template <class L>
static inline double dual_step(L loss, double slack, double cost, double q, double& dual,
                               LanePass& pass, bool& settled) {
  double gradient = slack;
  const double least = loss.least(cost);
  const double most = loss.most(cost);
  if constexpr (L::curved) {
    if (!(cost > 0.0)) return 0.0;  // the row has no loss
    gradient -= loss.bend(dual, cost);
    q += loss.curvature(cost);
  }
  pass.gap += loss.gap(slack, cost, dual);
  if (gradient > 0.0) {
    if (dual >= most) {
      settled = settled && gradient > pass.last_up;
      return 0.0;
    }
    if (gradient > pass.up) pass.up = gradient;
  } else {
    if (dual <= least) {
      settled = settled && -gradient > pass.last_down;
      return 0.0;
    }
    if (-gradient > pass.down) pass.down = -gradient;
  }
  settled = false;
  // The quotient does not wait for the gradient. A row without features, and no curvature of the
  // loss: to a bound at once.
  const double by_q = 1.0 / q;
  double next = q > 0.0 ? dual + gradient * by_q : (gradient > 0.0 ? most : least);
  if (gradient == 0.0) next = dual;
  next = next < least ? least : next;
  next = next > most ? most : next;
  const double change = next - dual;
  dual = next;
  pass.rise += change * (gradient - q * change / 2.0);
  return change;
}

// Visits of rows in a given order, one lane.
struct DualRows {
  const std::uint32_t* rows;
  const std::uint32_t* stored;  // where they are among the rows at hand: the same, or in copies
  std::int64_t count;
  double* w;
  double* duals;  // n
  Sides sides;
  Targets targets;
  const double* squared_norms;
  const double* weight;  // or null: all one
  std::int64_t weight_stride;
  double positive;  // class factors
  double negative;
  double inverse;  // 1 / s
  double pull;     // of a free intercept
  double* b;       // or null
  LanePass* pass;
  Loss loss;
  bool prefetch;
  bool* settled;           // count: whether the row may leave the list
  Subproblem* subproblem;  // or null
};

}  // namespace pegasos
