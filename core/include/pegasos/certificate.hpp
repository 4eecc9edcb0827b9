// The sums over rows a certificate is made of, recomputed in float64 from data, w and duals.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"

namespace pegasos {

// Rows further than this from a loss have none, unless rounding moved their margins so far: the
// hinge's slope counts the others.
inline constexpr double kNear = 1e-6;

// Per lane. Sums over disjoint rows add up to the sums over their union.
struct GapSums {
  double loss;             // sum c max(0, 1 - y (w.x + b))^p
  double dual_positive;    // sum of a over y = +1
  double dual_negative;    // sum of a over y = -1
  double square_positive;  // squared hinge: sum of a^2 / 4c over y = +1
  double square_negative;  // squared hinge: sum of a^2 / 4c over y = -1
  double slope;            // sum c l', l' = 2 max(0, slack), or 1 where slack > -kNear
  double slope_norm;       // sum c l' |x|: bounds the rounding of the losses
  double cost_norm;        // sum c |x|: the same where rows further away may have lost
  double dual_norm;        // sum a |x|: bounds the rounding of sum a y x
  double support;          // number of a > 0
  double blocks;           // number of sums added up: those inside one are compensated
};

// What a row adds to the slope; a NaN is added, not hidden.
inline double loss_slope(bool squared, double cost, double slack) {
  if (squared) return slack <= 0.0 ? 0.0 : 2.0 * cost * slack;
  return slack <= -kNear ? 0.0 : cost;
}

struct GapPass {
  std::int64_t lo;  // rows lo .. hi-1
  std::int64_t hi;
  const double* W;      // weight rows x stride
  const double* b;      // lanes
  const double* duals;  // (hi - lo) x lanes
  GapSums* sums;        // lanes; added to
  double* U_positive;   // weight rows x stride; sum of a x over y = +1 is added to it
  double* U_negative;   // the same over y = -1. Null: U_positive gets sum of a y x over all rows
  double* products;     // (hi - lo) x lanes, receives w.x, 0 of rows in no lane; may be null
};

void add_gap_sums(const ProblemView& problem, const GapPass& pass);

// The b of lane `lane` that minimises the loss given w.x of every row (the middle where it is an
// interval), and the sums there that depend on it.
struct BestIntercept {
  double b;
  double loss, slope, slope_norm;
};
BestIntercept best_intercept(const ProblemView& problem, std::int64_t lane, const double* products,
                             std::int64_t products_stride);

}  // namespace pegasos
