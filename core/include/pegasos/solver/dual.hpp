// Dual coordinate ascent (Hsieh et al. 2008, Algorithm 1): one dual at a time moves to its
// box-clipped maximiser,
//     a_i <- min(c_i, max(0, a_i + s (1 - y_i w.x_i) / |x_i|^2)),   w follows as w(a).
// A row without features has the loss 1 whatever w is: its dual goes to c_i at once.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"
#include "pegasos/sampler.hpp"

namespace pegasos {

struct DualState {
  double* W;      // weight rows x stride: w(a), kept along the way
  double* duals;  // n x lanes
  double* loss;   // lanes: c times the hinge losses met in this epoch
};

bool advance(const ProblemView& problem, const Sampler& sampler, DualState& state,
             const Budget& budget);

}  // namespace pegasos
