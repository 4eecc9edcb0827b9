// Systems of features x features: a Cholesky factor, and solutions by it. Libraries for this wait
// in a loop for threads of their own, which takes many times as long where another process has the
// core, and their bits depend on how many those are.
#pragma once

#include <cstdint>

namespace pegasos {

// Rows of a panel. A factor of `size` rows is stored as padded(size) / 8 panels of eight rows, each
// of them columns of eight values, as far as the diagonal.
constexpr std::int64_t kPanel = 8;
constexpr std::int64_t padded(std::int64_t size) { return (size + kPanel - 1) / kPanel * kPanel; }
constexpr std::int64_t panel_begin(std::int64_t p) { return kPanel * kPanel * (p * (p + 1) / 2); }
constexpr std::int64_t factor_size(std::int64_t size) { return panel_begin(padded(size) / kPanel); }

// A matrix (its upper triangle, by rows) with more on its diagonal.
struct Raised {
  const double* matrix;
  std::int64_t size;
  double penalty;  // added to every entry of the diagonal but the last
  double last;     // added to that one
  double lift;     // all of them are then larger by this share
};

// Writes the factor, factor_size(size) values; false if there is none. The same bits whatever the
// number of threads, which meet after every eight columns.
bool cholesky(const Raised& raised, std::int64_t most_threads, double* factor);

// x: padded(size) values, the right-hand side, then the solution; zeros after the first `size`.
void cholesky_solve(std::int64_t size, const double* factor, double* x);

// The arithmetic of panels, compiled for one instruction set. `first` is the first of eight
// columns, all before which are done.
struct CholeskyKernels {
  // The panel that has the diagonal there; false if the matrix is not positive definite.
  bool (*diagonal)(double* panel, std::int64_t first);
  // One below it; `columns` is the panel that has the diagonal.
  void (*below)(double* panel, const double* columns, std::int64_t first);
  // The panel's eight unknowns, forwards and backwards.
  void (*forward)(const double* panel, std::int64_t first, double* x);
  void (*backward)(const double* panel, std::int64_t first, double* x);
};

const CholeskyKernels& cholesky_kernels();

}  // namespace pegasos
