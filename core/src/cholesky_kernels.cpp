// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/cholesky.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

using std::int64_t;

typedef double Eight __attribute__((vector_size(64)));

Eight load(const double* values) {
  Eight out;
  __builtin_memcpy(&out, values, sizeof(out));
  return out;
}

void store(double* to, Eight values) { __builtin_memcpy(to, &values, sizeof(values)); }

// Takes what the columns before add up to off eight columns.
void subtract(double* panel, const double* columns, int64_t first) {
  Eight sum[kPanel] = {};
  for (int64_t k = 0; k < first; ++k) {
    const Eight rows = load(panel + kPanel * k);
    for (int j = 0; j < kPanel; ++j) sum[j] += rows * columns[kPanel * k + j];
  }
  for (int j = 0; j < kPanel; ++j) {
    double* at = panel + kPanel * (first + j);
    store(at, load(at) - sum[j]);
  }
}

bool diagonal(double* panel, int64_t first) {
  subtract(panel, panel, first);
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
  subtract(panel, columns, first);
  const double* block = columns + kPanel * first;
  Eight x[kPanel];
  for (int j = 0; j < kPanel; ++j) {
    double* at = panel + kPanel * (first + j);
    x[j] = load(at);
    for (int k = 0; k < j; ++k) x[j] -= x[k] * block[kPanel * k + j];
    x[j] /= block[kPanel * j + j];
    store(at, x[j]);
  }
}

void forward(const double* panel, int64_t first, double* x) {
  Eight sum = {};
  for (int64_t k = 0; k < first; ++k) sum += load(panel + kPanel * k) * x[k];
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
  const Eight found = load(x + first);
  for (int64_t k = 0; k < first; ++k) {
    const Eight part = found * load(panel + kPanel * k);
    x[k] -=
        ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
  }
}

constexpr CholeskyKernels kKernels = {&diagonal, &below, &forward, &backward};

}  // namespace

const CholeskyKernels& select_cholesky() { return kKernels; }

}  // namespace pegasos::PEGASOS_KERNELS
