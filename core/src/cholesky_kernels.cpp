// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/cholesky.hpp"
#include "register.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

using std::int64_t;

Some load(const double* values) {
  Some out;
  __builtin_memcpy(&out, values, sizeof(out));
  return out;
}

void store(double* to, Some values) { __builtin_memcpy(to, &values, sizeof(values)); }

// Takes what the columns before add up to off eight columns, in some of the panel's rows.
void subtract(double* rows, const double* columns, int64_t first) {
  Some sum[kPanel] = {};
  for (int64_t k = 0; k < first; ++k) {
    const Some values = load(rows + kPanel * k);
    for (int j = 0; j < kPanel; ++j) sum[j] += values * columns[kPanel * k + j];
  }
  for (int j = 0; j < kPanel; ++j) {
    double* at = rows + kPanel * (first + j);
    store(at, load(at) - sum[j]);
  }
}

bool diagonal(double* panel, int64_t first) {
  for (int r = 0; r < kPanel; r += kLanes) subtract(panel + r, panel, first);
  double* block = panel + kPanel * first;  // entry (row, column) is block[kPanel * column + row]
  for (int j = 0; j < kPanel; ++j) {
    double* column = block + kPanel * j;
    if (!(column[j] > 0.0)) return false;
    const double root = __builtin_sqrt(column[j]);
    column[j] = root;
    for (int i = j + 1; i < kPanel; ++i) column[i] /= root;
    for (int later = j + 1; later < kPanel; ++later) {
      for (int i = later; i < kPanel; ++i) block[kPanel * later + i] -= column[i] * column[later];
    }
  }
  return true;
}

void below(double* panel, const double* columns, int64_t first) {
  const double* block = columns + kPanel * first;
  for (int r = 0; r < kPanel; r += kLanes) {
    subtract(panel + r, columns, first);
    Some x[kPanel];
    for (int j = 0; j < kPanel; ++j) {
      double* at = panel + kPanel * (first + j) + r;
      x[j] = load(at);
      for (int k = 0; k < j; ++k) x[j] -= x[k] * block[kPanel * k + j];
      x[j] /= block[kPanel * j + j];
      store(at, x[j]);
    }
  }
}

void forward(const double* panel, int64_t first, double* x) {
  double sum[kPanel];
  for (int r = 0; r < kPanel; r += kLanes) {
    Some part = {};
    for (int64_t k = 0; k < first; ++k) part += load(panel + kPanel * k + r) * x[k];
    store(sum + r, part);
  }
  const double* block = panel + kPanel * first;
  for (int j = 0; j < kPanel; ++j) {
    double rest = x[first + j] - sum[j];
    for (int k = 0; k < j; ++k) rest -= block[kPanel * k + j] * x[first + k];
    x[first + j] = rest / block[kPanel * j + j];
  }
}

void backward(const double* panel, int64_t first, double* x) {
  const double* block = panel + kPanel * first;
  for (int j = kPanel - 1; j >= 0; --j) {
    double rest = x[first + j];
    for (int k = j + 1; k < kPanel; ++k) rest -= block[kPanel * j + k] * x[first + k];
    x[first + j] = rest / block[kPanel * j + j];
  }
  for (int64_t k = 0; k < first; ++k) {
    const double* column = panel + kPanel * k;
    Some part = {};
    for (int r = 0; r < kPanel; r += kLanes) part += load(x + first + r) * load(column + r);
    double sum = 0.0;
    for (int r = 0; r < kLanes; ++r) sum += part[r];
    x[k] -= sum;
  }
}

constexpr CholeskyKernels kKernels = {&diagonal, &below, &forward, &backward};

}  // namespace

const CholeskyKernels& select_cholesky() { return kKernels; }

}  // namespace pegasos::PEGASOS_KERNELS
