// The sums over rows a certificate is made of, recomputed in float64 from data, w and duals.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"

namespace pegasos {

// Per lane. Sums over disjoint rows add up to the sums over their union.
struct GapSums {
  double loss;           // sum c max(0, 1 - y (w.x + b))
  double dual_positive;  // sum of a over y = +1
  double dual_negative;  // sum of a over y = -1
  double cost;           // sum c
  double cost_norm;      // sum c |x|: bounds the rounding of the losses
  double dual_norm;      // sum a |x|: bounds the rounding of sum a y x
  double support;        // number of a > 0
  double blocks;         // number of sums added up: those inside one are compensated
};

struct GapPass {
  std::int64_t lo;  // rows lo .. hi-1
  std::int64_t hi;
  const double* W;      // weight rows x stride
  const double* b;      // lanes
  const double* duals;  // (hi - lo) x lanes
  GapSums* sums;        // lanes; added to
  double* U_positive;   // weight rows x stride; sum of a x over y = +1 is added to it
  double* U_negative;   // the same over y = -1. Null: U_positive gets sum of a y x over all rows
  double* products;     // (hi - lo) x lanes, receives w.x; may be null
};

void add_gap_sums(const ProblemView& problem, const GapPass& pass);

}  // namespace pegasos
