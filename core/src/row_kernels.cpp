// The row primitives. This file is compiled once per instruction set, with PEGASOS_KERNELS naming
// the namespace. It includes no standard template: an inline function shared with another
// translation unit could be emitted here with instructions the processor does not have.
#include "pegasos/rows.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

using std::int64_t;

// The hardware follows a stream once it runs: prefetching is for the first lines of a row.
template <class T>
void prefetch_some(const T* first, int64_t size) {
  constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t some = size < 32 * line ? size : 32 * line;
  for (int64_t j = 0; j < some; j += line) __builtin_prefetch(first + j, 0, 2);
  if (some > 0) __builtin_prefetch(first + some - 1, 0, 2);
}

// A row as the kernels see it: `size` values, and where each of them belongs.
template <class V>
struct DenseRow {
  const V* values;
  int64_t size;
  DenseRow(const RowsView& x, int64_t row)
      : values(static_cast<const V*>(x.values) + row * x.row_stride), size(x.d) {}
  int64_t column(int64_t j) const { return j; }
  void prefetch() const { prefetch_some(values, size); }
};

template <class V, class I, class Start = I>
struct CsrRow {
  const V* values;
  const I* columns;
  int64_t size;
  CsrRow(const RowsView& x, int64_t row) {
    const Start* indptr = static_cast<const Start*>(x.indptr) + row;
    const int64_t begin = indptr[0];
    values = static_cast<const V*>(x.values) + begin;
    columns = static_cast<const I*>(x.indices) + begin;
    size = indptr[1] - begin;
  }
  int64_t column(int64_t j) const { return columns[j]; }
  void prefetch() const {
    prefetch_some(values, size);
    prefetch_some(columns, size);
  }
};

// Re-association is spelled out, by vectors of partial sums; no compiler flag allows it elsewhere.
typedef double Four __attribute__((vector_size(32)));

template <class V>
struct FourStored;
template <>
struct FourStored<double> {
  typedef double type __attribute__((vector_size(32)));
};
template <>
struct FourStored<float> {
  typedef float type __attribute__((vector_size(16)));
};
template <>
struct FourStored<std::int8_t> {
  typedef std::int8_t type __attribute__((vector_size(4)));
};
template <>
struct FourStored<std::uint8_t> {
  typedef std::uint8_t type __attribute__((vector_size(4)));
};

template <class V>
Four load_four(const V* values) {
  typename FourStored<V>::type stored;
  __builtin_memcpy(&stored, values, sizeof(stored));
  return __builtin_convertvector(stored, Four);
}

template <class V>
Four weights_of(const DenseRow<V>&, const double* w, int64_t j) {
  return load_four(w + j);
}
template <class V, class I, class Start>
Four weights_of(const CsrRow<V, I, Start>& row, const double* w, int64_t j) {
  const I* columns = row.columns + j;
  return Four{w[columns[0]], w[columns[1]], w[columns[2]], w[columns[3]]};
}

double sum_of(Four part) { return (part[0] + part[2]) + (part[1] + part[3]); }

template <class Row>
double dot_row(const RowsView& x, const Row& row, const double* w) {
  Four even = {};
  Four odd = {};
  int64_t j = 0;
  for (; j + 8 <= row.size; j += 8) {
    even += load_four(row.values + j) * weights_of(row, w, j);
    odd += load_four(row.values + j + 4) * weights_of(row, w, j + 4);
  }
  if (j + 4 <= row.size) {
    even += load_four(row.values + j) * weights_of(row, w, j);
    j += 4;
  }
  double sum = x.bias * w[x.d];
  for (; j < row.size; ++j) sum += static_cast<double>(row.values[j]) * w[row.column(j)];
  return sum + sum_of(even + odd);
}

template <class Row>
double dot(const RowsView& x, int64_t i, const double* w) {
  return dot_row(x, Row(x, i), w);
}

template <class Row>
void axpy_row(const RowsView& x, const Row& row, double factor, double* w) {
  for (int64_t j = 0; j < row.size; ++j) {
    w[row.column(j)] += factor * static_cast<double>(row.values[j]);
  }
  w[x.d] += factor * x.bias;
}

template <class Row>
void axpy(const RowsView& x, int64_t i, double factor, double* w) {
  axpy_row(x, Row(x, i), factor, w);
}

template <class Row>
double squared_norm(const RowsView& x, int64_t i) {
  const Row row(x, i);
  Four part = {};
  int64_t j = 0;
  for (; j + 4 <= row.size; j += 4) {
    const Four values = load_four(row.values + j);
    part += values * values;
  }
  double sum = x.bias * x.bias;
  for (; j < row.size; ++j) {
    const double value = static_cast<double>(row.values[j]);
    sum += value * value;
  }
  return sum + sum_of(part);
}

template <class Row>
void outer(const RowsView& x, int64_t i, double factor, double* gram) {
  const Row row(x, i);
  for (int64_t p = 0; p < row.size; ++p) {
    const double value = factor * static_cast<double>(row.values[p]);
    double* line = gram + row.column(p) * (x.d + 1);
    for (int64_t q = p; q < row.size; ++q) {
      line[row.column(q)] += value * static_cast<double>(row.values[q]);
    }
  }
}

constexpr int64_t kLaterValue = 8;

// `Width` lanes at a time: their partial sums stay in registers while the row streams by.
template <class Row, int64_t Width>
void dot_width(const RowsView& x, const Row& row, const double* W, int64_t stride, double* out) {
  double sum[Width];
  const double* last = W + x.d * stride;
  for (int64_t k = 0; k < Width; ++k) sum[k] = x.bias * last[k];
  for (int64_t j = 0; j < row.size; ++j) {
    // The weights of many lanes outgrow the nearer caches: those of a later value are asked for.
    if (j + kLaterValue < row.size) {
      const double* later = W + row.column(j + kLaterValue) * stride;
      for (int64_t k = 0; k < Width; k += 8) __builtin_prefetch(later + k, 1, 3);
    }
    const double value = static_cast<double>(row.values[j]);
    const double* w = W + row.column(j) * stride;
    for (int64_t k = 0; k < Width; ++k) sum[k] += value * w[k];
  }
  for (int64_t k = 0; k < Width; ++k) out[k] = sum[k];
}

template <class Row, int64_t Width>
void axpy_width(const RowsView& x, const Row& row, const double* factors, double* W,
                int64_t stride) {
  double factor[Width];
  for (int64_t k = 0; k < Width; ++k) factor[k] = factors[k];
  for (int64_t j = 0; j < row.size; ++j) {
    const double value = static_cast<double>(row.values[j]);
    double* w = W + row.column(j) * stride;
    for (int64_t k = 0; k < Width; ++k) w[k] += value * factor[k];
  }
  double* last = W + x.d * stride;
  for (int64_t k = 0; k < Width; ++k) last[k] += x.bias * factor[k];
}

template <class Row>
void dot_lanes(const RowsView& x, int64_t i, const double* W, int64_t stride, int64_t width,
               double* out) {
  const Row row(x, i);
  int64_t k = 0;
  for (; k + 32 <= width; k += 32) dot_width<Row, 32>(x, row, W + k, stride, out + k);
  if (k + 16 <= width) {
    dot_width<Row, 16>(x, row, W + k, stride, out + k);
    k += 16;
  }
  if (k + 8 <= width) {
    dot_width<Row, 8>(x, row, W + k, stride, out + k);
    k += 8;
  }
  if (k + 4 <= width) dot_width<Row, 4>(x, row, W + k, stride, out + k);
}

template <class Row>
void axpy_lanes(const RowsView& x, int64_t i, const double* factors, double* W, int64_t stride,
                int64_t width) {
  const Row row(x, i);
  int64_t k = 0;
  for (; k + 32 <= width; k += 32) axpy_width<Row, 32>(x, row, factors + k, W + k, stride);
  if (k + 16 <= width) {
    axpy_width<Row, 16>(x, row, factors + k, W + k, stride);
    k += 16;
  }
  if (k + 8 <= width) {
    axpy_width<Row, 8>(x, row, factors + k, W + k, stride);
    k += 8;
  }
  if (k + 4 <= width) axpy_width<Row, 4>(x, row, factors + k, W + k, stride);
}

template <class Row>
void prefetch(const RowsView& x, int64_t i) {
  Row(x, i).prefetch();
}

template <class Row, class L>
void dual_rows_of(L loss, const RowsView& x, const DualRows& v) {
  constexpr int64_t lead = kRowsAheadPrefetched;
  // What every visit changes stays in registers.
  LanePass pass = *v.pass;
  double b = v.b != nullptr ? *v.b : 0.0;
  const auto prefetch = [&](int64_t i) {
    const int64_t later = v.rows[i];
    Row(x, v.stored[i]).prefetch();
    __builtin_prefetch(v.duals + later, 1, 2);
    __builtin_prefetch(v.squared_norms + later, 0, 2);
    __builtin_prefetch(v.sides.labels + later * v.sides.row_stride, 0, 2);
  };
  for (int64_t i = 0; v.prefetch && i < lead && i < v.count; ++i) prefetch(i);
  for (int64_t i = 0; i < v.count; ++i) {
    if (v.prefetch && i + lead < v.count) prefetch(i + lead);
    const int64_t row = v.rows[i];
    const int y = v.sides.at(row, 0);
    bool settled = true;
    if (y != 0) {
      const Row values(x, v.stored[i]);
      const double factor = y > 0 ? v.positive : v.negative;
      const double cost = v.weight == nullptr ? factor : factor * v.weight[row * v.weight_stride];
      const double offset = v.targets.at(row, 0);
      const double q = v.squared_norms[row] * v.inverse + v.pull;
      // Else q would be looked up behind the branches of the step, which nobody can predict.
      asm volatile("" ::: "memory");
      const double product = dot_row(x, values, v.w) + b;
      const double change =
          dual_step(loss, offset - y * product, cost, q, v.duals[row], pass, settled);
      if (change != 0.0) {
        axpy_row(x, values, change * y * v.inverse, v.w);
        b += change * y * v.pull;
        const double size = __builtin_fabs(change) * q;
        if (v.subproblem != nullptr && size > v.subproblem->least)
          add_to_subproblem(*v.subproblem, row, size);
      }
    }
    v.settled[i] = settled;
  }
  *v.pass = pass;
  if (v.b != nullptr) *v.b = b;
}

template <class Row>
void dual_rows(const RowsView& x, const DualRows& v) {
  with_loss(v.loss, [&](auto loss) { dual_rows_of<Row>(loss, x, v); });
}

template <class Row>
constexpr RowKernels kernels_of() {
  return {&dot<Row>,          &axpy<Row>,  &dot_lanes<Row>, &axpy_lanes<Row>,
          &squared_norm<Row>, &outer<Row>, &prefetch<Row>,  &dual_rows<Row>};
}

template <class V>
const RowKernels& by_storage(const RowsView& x) {
  static constexpr RowKernels dense = kernels_of<DenseRow<V>>();
  static constexpr RowKernels csr32 = kernels_of<CsrRow<V, std::int32_t>>();
  static constexpr RowKernels csr64 = kernels_of<CsrRow<V, std::int64_t>>();
  static constexpr RowKernels csr16 = kernels_of<CsrRow<V, std::uint16_t, std::int32_t>>();
  if (x.storage == Storage::dense) return dense;
  if (x.index == Index::u16) return csr16;
  return x.index == Index::i32 ? csr32 : csr64;
}

}  // namespace

const RowKernels& select(const RowsView& x) {
  switch (x.value) {
    case Value::f32:
      return by_storage<float>(x);
    case Value::i8:
      return by_storage<std::int8_t>(x);
    case Value::u8:
      return by_storage<std::uint8_t>(x);
    case Value::f64:
      break;
  }
  return by_storage<double>(x);
}

}  // namespace pegasos::PEGASOS_KERNELS
