// Between passes of dual coordinate ascent: D is a quadratic function of a, so its maximum over
// the span of the last changes of a, with those of w known, costs no look at any row. What leaves
// the box there is clipped, and w corrected by those rows. Where much leaves it D may fall: then
// nothing moves, and the next move is shorter. One lane.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"
#include "pegasos/solver/dual_knot.hpp"

namespace pegasos {

constexpr std::int64_t kSpanSlots = 3;

// One slot holds a and w as they were when the span was last left, the others what changed before.
struct Changes {
  double* slots;        // kSpanSlots x (n + weight rows): a, then w
  double* sums;         // kSpanSlots x 2: sum of o a, and of a y, of the changes
  double* reach;        // how far to go towards the maximum: its share of the way
  std::int64_t* point;  // the slot that holds where a and w were
  std::int64_t* known;  // changes in the slots before it; -1: there is no point yet
};

// Adds the change since the last call to the span, and moves towards its maximum if D rises.
void move_in_span(const ProblemView& problem, const Changes& changes, const DualPoint& at);

// Computes w from a anew, and forgets the changes: what rounding left between the two would be
// taken for a way up.
void renew_span(const ProblemView& problem, const Changes& changes, const DualPoint& at);

// The products of the changes of w with each other and with w.
struct SpanProducts {
  double gram[kSpanSlots][kSpanSlots];
  double with_w[kSpanSlots];
  double w_square;
};

// The arithmetic of long vectors, compiled for one instruction set.
struct SpanKernels {
  // before <- at - before, and its sum.
  double (*change)(std::int64_t size, const double* at, double* before);
  // all[0] <- w - all[0], then the products of the first `count` of `all`.
  void (*change_and_products)(std::int64_t size, const double* w, double* const* all, int count,
                              SpanProducts&);
  // The products alone.
  void (*products)(std::int64_t size, const double* w, double* const* all, int count,
                   SpanProducts&);
  // out <- sum of by[i] all[i]; out may be one of them.
  void (*combine)(std::int64_t size, const double* const* all, const double* by, double* out);
  // step.at and step.step
  void (*along)(std::int64_t size, const double* at, const double* step, double* slope,
                double* square);
  // at and change go by the step; then step <- at.
  void (*take)(std::int64_t size, double* at, double* change, double* step);
};

const SpanKernels& span_kernels();

}  // namespace pegasos
