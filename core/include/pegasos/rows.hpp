// A read-only view of the examples, and the primitives the solvers are written over.
//
// A row is x_i in R^d, stored dense or as CSR, followed by a constant feature `bias` when the
// intercept is regularized (bias = 0: no such feature). Weights are float64 always: on rows that
// come from memory the width of w does not show, and the certificate needs no second copy.
//
// Weights of K lanes are a (d + 1) x `stride` row-major matrix, stride = padded_lanes(K), whose
// last row belongs to the constant feature. K = 1 has stride 1 and its own kernels.
#pragma once

#include <cstdint>

#include "pegasos/solver/dual_step.hpp"

namespace pegasos {

enum class Storage : std::uint8_t { dense, csr };
enum class Value : std::uint8_t { f32, f64, i8, u8 };
enum class Index : std::uint8_t { i32, i64, u16 };  // u16: of copies of our own

// Lanes are padded with zero columns so that the kernels see whole vectors of four.
constexpr std::int64_t padded_lanes(std::int64_t lanes) {
  return lanes == 1 ? 1 : (lanes + 3) / 4 * 4;
}

struct RowsView {
  Storage storage = Storage::dense;
  Value value = Value::f64;
  Index index = Index::i32;
  const void* values = nullptr;
  const void* indices = nullptr;  // csr
  const void* indptr = nullptr;   // csr; of the same type as indices, for u16 of i32
  std::int64_t n = 0;
  std::int64_t d = 0;
  std::int64_t row_stride = 0;  // dense: distance between rows, in values
  double bias = 0.0;
};

// Where a CSR row begins among the stored values.
inline std::int64_t start_of(const RowsView& x, std::int64_t row) {
  if (x.index == Index::i64) return static_cast<const std::int64_t*>(x.indptr)[row];
  return static_cast<const std::int32_t*>(x.indptr)[row];
}
// Of rows lo..hi-1.
inline std::int64_t stored_values(const RowsView& x, std::int64_t lo, std::int64_t hi) {
  return x.storage == Storage::dense ? (hi - lo) * x.d : start_of(x, hi) - start_of(x, lo);
}

// One set of primitives for one storage, compiled for one instruction set.
struct RowKernels {
  double (*dot)(const RowsView&, std::int64_t row, const double* w);
  void (*axpy)(const RowsView&, std::int64_t row, double factor, double* w);
  void (*dot_lanes)(const RowsView&, std::int64_t row, const double* W, std::int64_t stride,
                    std::int64_t width, double* out);
  void (*axpy_lanes)(const RowsView&, std::int64_t row, const double* factors, double* W,
                     std::int64_t stride, std::int64_t width);
  double (*squared_norm)(const RowsView&, std::int64_t row);
  void (*outer)(const RowsView&, std::int64_t row, double factor, double* gram);
  void (*prefetch)(const RowsView&, std::int64_t row);
  void (*dual_rows)(const RowsView&, const DualRows&);
};

enum class InstructionSet : std::uint8_t { baseline, x86_64_v2, x86_64_v3, x86_64_v4 };

const char* name(InstructionSet set);
bool available(InstructionSet set);            // compiled in, and this processor runs it
InstructionSet instruction_set();              // the one in use: the best unless told otherwise
void use_instruction_set(InstructionSet set);  // throws std::invalid_argument if unavailable
const RowKernels& row_kernels(const RowsView& view);

class Rows {
 public:
  explicit Rows(const RowsView& view) : view_(view), kernels_(&row_kernels(view)) {}

  std::int64_t n() const { return view_.n; }
  std::int64_t d() const { return view_.d; }
  double bias() const { return view_.bias; }
  const RowsView& view() const { return view_; }
  // Rows of w: the features and the constant one.
  std::int64_t weight_rows() const { return view_.d + 1; }

  double squared_norm(std::int64_t row) const { return kernels_->squared_norm(view_, row); }
  // Adds factor x x' to the upper triangle of a (d + 1) x (d + 1) matrix, but for its last column.
  void outer(std::int64_t row, double factor, double* gram) const {
    kernels_->outer(view_, row, factor, gram);
  }
  void prefetch(std::int64_t row) const { kernels_->prefetch(view_, row); }
  // Steps of dual ascent over rows of one lane; here because it spends its time in row products.
  void dual_rows(const DualRows& visits) const { kernels_->dual_rows(view_, visits); }

  // out[k] = w_k . x_row for the first `width` columns of W
  void dot(std::int64_t row, const double* W, std::int64_t stride, std::int64_t width,
           double* out) const {
    if (stride == 1) {
      *out = kernels_->dot(view_, row, W);
    } else {
      kernels_->dot_lanes(view_, row, W, stride, width, out);
    }
  }
  void dot(std::int64_t row, const double* W, std::int64_t stride, double* out) const {
    dot(row, W, stride, stride, out);
  }
  // w_k += factors[k] x_row for the first `width` columns of W
  void axpy(std::int64_t row, const double* factors, double* W, std::int64_t stride,
            std::int64_t width) const {
    if (stride == 1) {
      kernels_->axpy(view_, row, *factors, W);
    } else {
      kernels_->axpy_lanes(view_, row, factors, W, stride, width);
    }
  }
  void axpy(std::int64_t row, const double* factors, double* W, std::int64_t stride) const {
    axpy(row, factors, W, stride, stride);
  }

 private:
  RowsView view_;
  const RowKernels* kernels_;
};

}  // namespace pegasos
