// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/dense_blocks.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

using std::int64_t;

typedef double Eight __attribute__((vector_size(64)));

template <class V>
struct EightStored {
  typedef V type __attribute__((vector_size(8 * sizeof(V))));
};

template <class V>
Eight load(const V* values) {
  typename EightStored<V>::type stored;
  __builtin_memcpy(&stored, values, sizeof(stored));
  return __builtin_convertvector(stored, Eight);
}

Eight all(double value) { return Eight{} + value; }

double sum_of(Eight part) {
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

template <class V>
const V* row_of(const RowsView& x, int64_t id) {
  return static_cast<const V*>(x.values) + id * x.row_stride;
}

// Rows are asked for ahead of time: read four at a time, or a few columns of each, they are no
// stream that the processor would recognise.
constexpr int64_t kLine = 64;   // bytes
constexpr int64_t kFar = 6400;  // bytes ahead, but at least four rows
constexpr int64_t kNear = 12;   // rows ahead

template <class V>
int64_t values_ahead(const RowsView& x) {
  const int64_t rows = kFar / (x.d * static_cast<int64_t>(sizeof(V)));
  return x.row_stride * (rows < 4 ? 4 : rows);
}

// `Count` rows share the loads of w. The last vector of a row overlaps the one before it, and
// `tail` has zeros there.
template <class V, int Count>
void dot_rows(const RowsView& x, const int64_t* ids, const double* w, Eight tail, int64_t ahead,
              double* out) {
  const V* row[Count];
  Eight sum[Count];
  for (int i = 0; i < Count; ++i) {
    row[i] = row_of<V>(x, ids[i]);
    sum[i] = tail * load(row[i] + x.d - 8);
  }
  for (int64_t j = 0; j + 8 <= x.d; j += 8) {
    const Eight weights = load(w + j);
    for (int i = 0; i < Count; ++i) {
      __builtin_prefetch(row[i] + j + ahead);
      sum[i] += weights * load(row[i] + j);
    }
  }
  for (int i = 0; i < Count; ++i) out[i] = sum_of(sum[i]) + x.bias * w[x.d];
}

template <class V>
void products(const RowsView& x, const int64_t* ids, int64_t count, const double* w, double* out) {
  if (x.d < 8) {
    for (int64_t i = 0; i < count; ++i) {
      const V* row = row_of<V>(x, ids[i]);
      double sum = x.bias * w[x.d];
      for (int64_t j = 0; j < x.d; ++j) sum += static_cast<double>(row[j]) * w[j];
      out[i] = sum;
    }
    return;
  }
  Eight tail = {};
  for (int64_t j = x.d / 8 * 8; j < x.d; ++j) tail[j - (x.d - 8)] = w[j];
  const int64_t ahead = values_ahead<V>(x);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) dot_rows<V, 4>(x, ids + i, w, tail, ahead, out + i);
  for (; i < count; ++i) dot_rows<V, 1>(x, ids + i, w, tail, ahead, out + i);
}

// `Sums` sums over the rows of the `Width` vectors of columns from `first` on.
template <class V, int Sums, int Width>
void add_columns(const RowsView& x, const int64_t* ids, int64_t count, const double* factors,
                 int64_t first, double* out) {
  Eight sum[Sums][Width] = {};
  for (int64_t i = 0; i < count; ++i) {
    const V* row = row_of<V>(x, ids[i]) + first;
    if (first == 0 && i + kNear < count) {  // later columns find their rows in the cache
      const V* next = row_of<V>(x, ids[i + kNear]);
      for (int64_t j = 0; j < x.d; j += kLine / static_cast<int64_t>(sizeof(V))) {
        __builtin_prefetch(next + j);
      }
    }
    Eight values[Width];
    for (int p = 0; p < Width; ++p) values[p] = load(row + 8 * p);
    for (int k = 0; k < Sums; ++k) {
      const Eight factor = all(factors[k * kBlockRows + i]);
      for (int p = 0; p < Width; ++p) sum[k][p] += factor * values[p];
    }
  }
  for (int k = 0; k < Sums; ++k) {
    double* line = out + k * (x.d + 1) + first;
    for (int p = 0; p < Width; ++p) {
      for (int j = 0; j < 8; ++j) line[8 * p + j] += sum[k][p][j];
    }
  }
}

template <class V, int Sums>
void add_sums(const RowsView& x, const int64_t* ids, int64_t count, const double* factors,
              double* out) {
  int64_t j = 0;
  for (; j + 32 <= x.d; j += 32) add_columns<V, Sums, 4>(x, ids, count, factors, j, out);
  for (; j + 16 <= x.d; j += 16) add_columns<V, Sums, 2>(x, ids, count, factors, j, out);
  for (; j + 8 <= x.d; j += 8) add_columns<V, Sums, 1>(x, ids, count, factors, j, out);
  const int64_t rest = x.d - j;
  for (int k = 0; k < Sums; ++k) {
    const double* factor = factors + k * kBlockRows;
    double last[8] = {};
    double total = 0.0;
    for (int64_t i = 0; i < count; ++i) {
      const V* row = row_of<V>(x, ids[i]) + j;
      for (int64_t q = 0; q < rest; ++q) last[q] += factor[i] * static_cast<double>(row[q]);
      total += factor[i];
    }
    double* line = out + k * (x.d + 1);
    for (int64_t q = 0; q < rest; ++q) line[j + q] += last[q];
    line[x.d] += total * x.bias;
  }
}

template <class V>
void add(const RowsView& x, const int64_t* ids, int64_t count, const double* factors, int64_t sums,
         double* out) {
  for (; sums >= 3; sums -= 3, factors += 3 * kBlockRows, out += 3 * (x.d + 1)) {
    add_sums<V, 3>(x, ids, count, factors, out);
  }
  if (sums == 2) add_sums<V, 2>(x, ids, count, factors, out);
  if (sums == 1) add_sums<V, 1>(x, ids, count, factors, out);
}

// Panel p holds columns 8p .. 8p+7 of all rows, weighted: every tile of the Gram matrix then
// reads memory in order.
template <class V>
void pack(const RowsView& x, const int64_t* ids, int64_t count, const double* root, double constant,
          double* packed) {
  for (int64_t i = 0; i < count; ++i) {
    const V* row = row_of<V>(x, ids[i]);
    double* out = packed + 8 * i;
    const Eight factor = all(root[i]);
    int64_t j = 0;
    for (; j + 8 <= x.d; j += 8, out += 8 * count) {
      const Eight values = factor * load(row + j);
      __builtin_memcpy(out, &values, sizeof(values));
    }
    double last[8] = {};
    for (int64_t q = 0; j + q < x.d; ++q) last[q] = root[i] * static_cast<double>(row[j + q]);
    last[x.d - j] = root[i] * constant;
    __builtin_memcpy(out, last, sizeof(last));
  }
}

// Eight rows of the matrix x `Width` panels of columns.
template <int Width>
void add_tile(const double* left, const double* right, int64_t count, double* gram, int64_t size,
              int64_t rows, int64_t columns) {
  Eight sum[8][Width] = {};
  for (int64_t i = 0; i < count; ++i) {
    Eight values[Width];
    for (int q = 0; q < Width; ++q) values[q] = load(right + (q * count + i) * 8);
    for (int p = 0; p < 8; ++p) {
      const Eight factor = all(left[8 * i + p]);
      for (int q = 0; q < Width; ++q) sum[p][q] += factor * values[q];
    }
  }
  for (int64_t p = 0; p < rows; ++p) {
    double line[8 * Width];
    __builtin_memcpy(line, sum[p], sizeof(line));
    for (int64_t q = 0; q < columns; ++q) gram[p * size + q] += line[q];
  }
}

template <class V>
void gram(const RowsView& x, const int64_t* ids, int64_t count, const double* root, double constant,
          double* packed, double* out) {
  pack<V>(x, ids, count, root, constant, packed);
  const int64_t size = x.d + 1;
  const int64_t panels = (size + 7) / 8;
  for (int64_t p = 0; p < panels; ++p) {
    const double* left = packed + p * 8 * count;
    const int64_t rows = size - 8 * p < 8 ? size - 8 * p : 8;
    for (int64_t q = p; q < panels;) {
      const double* right = packed + q * 8 * count;
      double* target = out + 8 * p * size + 8 * q;
      const int64_t left_over = size - 8 * q;
      const int64_t width = panels - q < 3 ? panels - q : 3;
      const int64_t columns = left_over < 8 * width ? left_over : 8 * width;
      if (width == 3) add_tile<3>(left, right, count, target, size, rows, columns);
      if (width == 2) add_tile<2>(left, right, count, target, size, rows, columns);
      if (width == 1) add_tile<1>(left, right, count, target, size, rows, columns);
      q += width;
    }
  }
}

template <class V>
constexpr DenseKernels kKernels = {&products<V>, &add<V>, &gram<V>};

}  // namespace

const DenseKernels& select_dense(const RowsView& x) {
  switch (x.value) {
    case Value::f32:
      return kKernels<float>;
    case Value::i8:
      return kKernels<std::int8_t>;
    case Value::u8:
      return kKernels<std::uint8_t>;
    case Value::f64:
      break;
  }
  return kKernels<double>;
}

}  // namespace pegasos::PEGASOS_KERNELS
