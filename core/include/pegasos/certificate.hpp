// The sums over rows a certificate is made of, recomputed in float64 from data, w and duals.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"

namespace pegasos {

// Rows further than this share of the unit from a kink are on their side of it, unless rounding
// moved their margins so far: the slope of a loss with kinks counts the others.
inline constexpr double kNear = 1e-6;

// Per lane. Sums over disjoint rows add up to the sums over their union. Duals are split by the
// sign of beta = a y, their part in w, and what an offset o adds to that of 1 is apart: for classes
// it is 0 to the last digit.
struct GapSums {
  double loss;             // sum phi(o - y (w.x + b))
  double dual_positive;    // sum |a| over beta > 0
  double dual_negative;    // sum |a| over beta < 0
  double square_positive;  // sum kappa a^2 / 2 over beta > 0
  double square_negative;  // sum kappa a^2 / 2 over beta < 0
  double slope;            // sum phi'; where there is a kink, of its far side from kNear before it
  double slope_norm;       // sum phi' |x|: bounds the rounding of the losses
  double cost_norm;        // sum c |x|: the same where rows further away may have lost
  double dual_norm;        // sum |a x|: bounds the rounding of sum a y x
  double support;          // number of a != 0
  double blocks;           // number of sums added up: those inside one are compensated
  double level_positive;   // sum o a - |a| over beta > 0
  double level_negative;   // sum o a - |a| over beta < 0
  double level_size;       // sum |o a - |a||
  double level_slope;      // sum phi' (|o| - 1), where |o| > 1
};

struct GapPass {
  std::int64_t lo;  // rows lo .. hi-1
  std::int64_t hi;
  const double* W;      // weight rows x stride
  const double* b;      // lanes
  const double* duals;  // (hi - lo) x lanes
  GapSums* sums;        // lanes; added to
  double* U_positive;   // weight rows x stride; sum of |a| x over beta > 0 is added to it
  double* U_negative;   // the same over beta < 0. Null: U_positive gets sum of a y x over all rows
  double* products;     // (hi - lo) x lanes, receives w.x, 0 of rows in no lane; may be null
};

void add_gap_sums(const ProblemView& problem, const GapPass& pass);

// The b of lane `lane` that minimises the loss given w.x of every row (the middle where it is an
// interval), and the sums there that depend on it.
struct BestIntercept {
  double b;
  double loss, slope, slope_norm, level_slope;
};
BestIntercept best_intercept(const ProblemView& problem, std::int64_t lane, const double* products,
                             std::int64_t products_stride);

}  // namespace pegasos
