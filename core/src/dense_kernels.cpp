// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/dense_blocks.hpp"
#include "register.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

using std::int64_t;

constexpr int kGroup = 8;  // columns, which are kParts vectors
constexpr int kParts = kGroup / kLanes;
constexpr int kTogether = kLanes > 2 ? 4 : 2;  // rows whose products are taken at once

template <class V>
struct SomeStored {
  typedef V type __attribute__((vector_size(kLanes * sizeof(V))));
};

template <class V>
Some load(const V* values) {
  typename SomeStored<V>::type stored;
  __builtin_memcpy(&stored, values, sizeof(stored));
  return __builtin_convertvector(stored, Some);
}

// Eight values, added up in the same order whatever a register holds.
double sum_of(const Some* parts) {
  double part[kGroup];
  __builtin_memcpy(part, parts, sizeof(part));
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

template <class V>
const V* row_of(const RowsView& x, int64_t id) {
  return static_cast<const V*>(x.values) + id * x.row_stride;
}

// Rows are asked for ahead of time: read four at a time, or a few columns of each, they are no
// stream that the processor would recognise.
constexpr int64_t kLine = 64;     // bytes
constexpr int64_t kFar = 6400;    // bytes ahead, but at least four rows
constexpr int64_t kNear = 12;     // rows ahead
constexpr int64_t kShort = 4096;  // bytes of rows that are asked for as a whole

template <class V>
int64_t bytes_of(const RowsView& x) {
  return x.d * static_cast<int64_t>(sizeof(V));
}

// `Count` rows share the loads of w. The last eight of a row overlap those before them, and `tail`
// has zeros there.
template <class V, int Count>
void dot_rows(const RowsView& x, const int64_t* ids, const double* w, const double* tail,
              const int64_t* later, double* out) {
  const V* row[Count];
  const V* next[Count];
  Some sum[Count][kParts];
  for (int i = 0; i < Count; ++i) {
    row[i] = row_of<V>(x, ids[i]);
    next[i] = row_of<V>(x, later[i]);
    for (int p = 0; p < kParts; ++p) {
      sum[i][p] = load(tail + p * kLanes) * load(row[i] + x.d - kGroup + p * kLanes);
    }
  }
  for (int64_t j = 0; j + kGroup <= x.d; j += kGroup) {
    for (int i = 0; i < Count; ++i) __builtin_prefetch(next[i] + j);
    for (int p = 0; p < kParts; ++p) {
      const Some weights = load(w + j + p * kLanes);
      for (int i = 0; i < Count; ++i) sum[i][p] += weights * load(row[i] + j + p * kLanes);
    }
  }
  for (int i = 0; i < Count; ++i) out[i] = sum_of(sum[i]) + x.bias * w[x.d];
}

template <class V>
void products(const RowsView& x, const int64_t* ids, int64_t count, const double* w, double* out) {
  if (x.d < kGroup) {
    for (int64_t i = 0; i < count; ++i) {
      const V* row = row_of<V>(x, ids[i]);
      double sum = x.bias * w[x.d];
      for (int64_t j = 0; j < x.d; ++j) sum += static_cast<double>(row[j]) * w[j];
      out[i] = sum;
    }
    return;
  }
  double tail[kGroup] = {};
  for (int64_t j = x.d / kGroup * kGroup; j < x.d; ++j) tail[j - (x.d - kGroup)] = w[j];
  const int64_t far = kFar / bytes_of<V>(x);
  const int64_t ahead = far < 4 ? 4 : far;
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    int64_t later[kTogether];
    for (int64_t k = 0; k < kTogether; ++k) {  // after the block, rows are likely to go on
      const int64_t at = i + ahead + k;
      later[k] = at < count ? ids[at] : ids[count - 1] + (at - count + 1);
    }
    dot_rows<V, kTogether>(x, ids + i, w, tail, later, out + i);
  }
  for (; i < count; ++i) dot_rows<V, 1>(x, ids + i, w, tail, ids + i, out + i);
}

// `Sums` sums over the rows of `Width` groups of columns from `first` on.
template <class V, int Sums, int Width>
void add_columns(const RowsView& x, const int64_t* ids, int64_t count, const double* factors,
                 int64_t first, double* out) {
  constexpr int vectors = Width * kParts;
  Some sum[Sums][vectors] = {};
  for (int64_t i = 0; i < count; ++i) {
    const V* row = row_of<V>(x, ids[i]) + first;
    // Later columns find their rows in the cache.
    if (first == 0 && i + kNear < count && bytes_of<V>(x) <= kShort) {
      const V* next = row_of<V>(x, ids[i + kNear]);
      for (int64_t j = 0; j < x.d; j += kLine / static_cast<int64_t>(sizeof(V))) {
        __builtin_prefetch(next + j);
      }
    }
    Some values[vectors];
    for (int p = 0; p < vectors; ++p) values[p] = load(row + p * kLanes);
    for (int k = 0; k < Sums; ++k) {
      const double factor = factors[k * kBlockRows + i];
      for (int p = 0; p < vectors; ++p) sum[k][p] += factor * values[p];
    }
  }
  for (int k = 0; k < Sums; ++k) {
    double* line = out + k * (x.d + 1) + first;
    for (int p = 0; p < vectors; ++p) {
      for (int j = 0; j < kLanes; ++j) line[p * kLanes + j] += sum[k][p][j];
    }
  }
}

// Groups of columns whose sums stay in registers, of which there are 32 or 16.
template <int Sums>
constexpr int kWidest = kLanes == 8 ? 4 : (kLanes == 4 && Sums < 3 ? 2 : 1);

template <class V, int Sums>
void add_sums(const RowsView& x, const int64_t* ids, int64_t count, const double* factors,
              double* out) {
  constexpr int widest = kWidest<Sums>;
  int64_t j = 0;
  for (; j + widest * kGroup <= x.d; j += widest * kGroup) {
    add_columns<V, Sums, widest>(x, ids, count, factors, j, out);
  }
  for (; j + kGroup <= x.d; j += kGroup) add_columns<V, Sums, 1>(x, ids, count, factors, j, out);
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
    double* out = packed + kGroup * i;
    int64_t j = 0;
    for (; j + kGroup <= x.d; j += kGroup, out += kGroup * count) {
      for (int p = 0; p < kGroup; p += kLanes) {
        const Some values = root[i] * load(row + j + p);
        __builtin_memcpy(out + p, &values, sizeof(values));
      }
    }
    double last[kGroup] = {};
    for (int64_t q = 0; j + q < x.d; ++q) last[q] = root[i] * static_cast<double>(row[j + q]);
    last[x.d - j] = root[i] * constant;
    __builtin_memcpy(out, last, sizeof(last));
  }
}

// kLanes rows of the matrix x `Width` panels of columns: as many sums as registers hold.
template <int Width>
void add_part(const double* left, const double* right, int64_t count, double* gram, int64_t size,
              int64_t rows, int64_t columns) {
  Some sum[kLanes][Width * kParts] = {};
  for (int64_t i = 0; i < count; ++i) {
    Some values[Width * kParts];
    for (int q = 0; q < Width * kParts; ++q) {
      values[q] = load(right + (q / kParts * count + i) * kGroup + q % kParts * kLanes);
    }
    for (int p = 0; p < kLanes; ++p) {
      const double factor = left[kGroup * i + p];
      for (int q = 0; q < Width * kParts; ++q) sum[p][q] += factor * values[q];
    }
  }
  for (int64_t p = 0; p < rows; ++p) {
    double line[kGroup * Width];
    __builtin_memcpy(line, sum[p], sizeof(line));
    for (int64_t q = 0; q < columns; ++q) gram[p * size + q] += line[q];
  }
}

// Up to eight rows.
template <int Width>
void add_tile(const double* left, const double* right, int64_t count, double* gram, int64_t size,
              int64_t rows, int64_t columns) {
  for (int64_t p = 0; p < rows; p += kLanes) {
    const int64_t here = rows - p < kLanes ? rows - p : kLanes;
    add_part<Width>(left + p, right, count, gram + p * size, size, here, columns);
  }
}

constexpr int64_t kPanels = kLanes == 8 ? 3 : 1;  // of a tile

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
      const int64_t width = panels - q < kPanels ? panels - q : kPanels;
      const int64_t columns = left_over < 8 * width ? left_over : 8 * width;
      if constexpr (kPanels > 1) {
        if (width == 3) add_tile<3>(left, right, count, target, size, rows, columns);
        if (width == 2) add_tile<2>(left, right, count, target, size, rows, columns);
      }
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
