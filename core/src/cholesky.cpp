#include "pegasos/cholesky.hpp"

#include <algorithm>
#include <optional>

#include "pegasos/parallel.hpp"

namespace pegasos {

namespace {

using std::int64_t;

constexpr int64_t kPanelsOfThread = 8;  // that repay it

// The lower triangle into panels; what pads the matrix is the unit matrix.
void pack(const Raised& raised, double* factor) {
  const int64_t size = raised.size;
  const int64_t width = padded(size);
  for (int64_t column = 0; column < size; ++column) {
    const double* line = raised.matrix + column * size;
    for (int64_t row = column; row < size; ++row) {
      factor[panel_begin(row / kPanel) + kPanel * column + row % kPanel] = line[row];
    }
    double* above = factor + panel_begin(column / kPanel) + kPanel * column;
    double& entry = above[column % kPanel];
    entry = (entry + (column + 1 < size ? raised.penalty : raised.last)) * (1.0 + raised.lift);
    for (int64_t row = 0; row < column % kPanel; ++row) above[row] = 0.0;
  }
  double* last = factor + panel_begin(width / kPanel - 1);
  for (int64_t row = size; row < width; ++row) {
    for (int64_t column = 0; column <= row; ++column) {
      last[kPanel * column + row % kPanel] = column == row ? 1.0 : 0.0;
    }
  }
}

}  // namespace

bool cholesky(const Raised& raised, int64_t most_threads, double* factor) {
  const CholeskyKernels& kernels = cholesky_kernels();
  const int64_t panels = padded(raised.size) / kPanel;
  const int64_t threads = std::min(most_threads, panels / kPanelsOfThread);
  pack(raised, factor);
  std::optional<Team> team;
  if (threads > 1) team.emplace(threads);
  for (int64_t q = 0; q < panels; ++q) {
    double* columns = factor + panel_begin(q);
    if (!kernels.diagonal(columns, kPanel * q)) return false;
    const auto below = [&](int64_t lo, int64_t hi) {
      for (int64_t p = lo; p < hi; ++p) {
        kernels.below(factor + panel_begin(p), columns, kPanel * q);
      }
    };
    const int64_t left = panels - q - 1;
    if (!team || left < threads) {
      below(q + 1, panels);
      continue;
    }
    team->run([&](int64_t part) {
      below(q + 1 + share_begin(left, threads, part), q + 1 + share_begin(left, threads, part + 1));
    });
  }
  return true;
}

void cholesky_solve(int64_t size, const double* factor, double* x) {
  const CholeskyKernels& kernels = cholesky_kernels();
  const int64_t panels = padded(size) / kPanel;
  for (int64_t p = 0; p < panels; ++p) {
    kernels.forward(factor + panel_begin(p), kPanel * p, x);
  }
  for (int64_t p = panels - 1; p >= 0; --p) {
    kernels.backward(factor + panel_begin(p), kPanel * p, x);
  }
}

}  // namespace pegasos
