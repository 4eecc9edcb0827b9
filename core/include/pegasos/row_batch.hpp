// Consecutive rows of a pass, as the kernels of the second-order solvers see them.
#pragma once

#include <cstdint>

#include "pegasos/loss.hpp"

namespace pegasos {

struct RowBatch {
  std::int64_t first, size;
  Loss loss;
  const double* y;       // sides
  const double* offset;  // of margins
  const double* c;
  const double* products;  // with a vector of weights
  double b;                // what is added to them
  double* factors;         // of the sums over x to come, kBlockRows apart
};

}  // namespace pegasos
