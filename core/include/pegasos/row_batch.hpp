// Consecutive rows of a pass, as the kernels of the second-order solvers see them.
#pragma once

#include <cstdint>

namespace pegasos {

struct RowBatch {
  std::int64_t first, size;
  bool squared;  // the squared hinge
  const double* y;
  const double* c;
  const double* products;  // with a vector of weights
  double b;                // what is added to them
  double* factors;         // of the sums over x to come, kBlockRows apart
};

}  // namespace pegasos
