// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/mercer.hpp"
#include "register.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

using std::int32_t;
using std::int64_t;

// 1 / k!, the series of exp.
template <class T, int terms>
struct Series {
  T values[terms + 1];
  constexpr Series() : values{} {
    double factorial = 1.0;
    for (int k = 0; k <= terms; ++k) {
      values[k] = static_cast<T>(1.0 / factorial);
      factorial *= k + 1;
    }
  }
  constexpr T operator[](int k) const { return values[k]; }
};

// A vector of T, and what exp needs to know of T.
template <class T>
struct Wide;
template <>
struct Wide<float> {
  typedef float V __attribute__((vector_size(kRegister)));
  typedef int32_t Bits __attribute__((vector_size(kRegister)));
  static constexpr int64_t lanes = kRegister / 4;
  static constexpr int terms = 7, mantissa = 23, bias = 127;
  static constexpr Series<float, terms> series{};
  static constexpr float least = -87.0F, most = 88.0F;  // exp is a normal number between
  static constexpr float shifter = 12582912.0F;         // 1.5 x 2^23: adding it rounds
  static constexpr float ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
};
template <>
struct Wide<double> {
  typedef Some V;
  typedef int64_t Bits __attribute__((vector_size(kRegister)));
  static constexpr int64_t lanes = kLanes;
  static constexpr int terms = 13, mantissa = 52, bias = 1023;
  static constexpr Series<double, terms> series{};
  static constexpr double least = -708.0, most = 709.0;
  static constexpr double shifter = 6755399441055744.0;  // 1.5 x 2^52
  static constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
};

template <class V, class T>
V load(const T* values) {
  V out;
  __builtin_memcpy(&out, values, sizeof(V));
  return out;
}
template <class V, class T>
void store(T* values, V in) {
  __builtin_memcpy(values, &in, sizeof(V));
}

// exp(x) = 2^k exp(r), |r| <= log(2) / 2, by its Taylor series; 0 below the normal numbers.
template <class T>
typename Wide<T>::V exponential(typename Wide<T>::V x) {
  using W = Wide<T>;
  using V = typename W::V;
  using Bits = typename W::Bits;
  const Bits gone = x < W::least;
  x = gone ? V{} : x;
  x = x > W::most ? V{} + W::most : x;
  const V shifted = x * static_cast<T>(1.4426950408889634) + W::shifter;
  const V k = shifted - W::shifter;
  const V r = (x - k * W::ln2_high) - k * W::ln2_low;
  V sum = V{} + W::series[W::terms];
  for (int term = W::terms; term-- > 0;) sum = sum * r + W::series[term];
  // The low bits of `shifted` are k.
  const Bits whole = reinterpret_cast<Bits>(shifted) - reinterpret_cast<Bits>(V{} + W::shifter);
  const Bits power = (whole + W::bias) << W::mantissa;
  sum *= reinterpret_cast<V>(power);
  return gone ? V{} : sum;
}

template <class T>
typename Wide<T>::V power(typename Wide<T>::V x, double degree) {
  using V = typename Wide<T>::V;
  if (degree >= 0.0 && degree <= 64.0 && degree == static_cast<double>(static_cast<int>(degree))) {
    V out = V{} + T{1};
    for (auto left = static_cast<unsigned>(degree); left != 0; left >>= 1, x *= x) {
      if ((left & 1U) != 0) out *= x;
    }
    return out;
  }
  for (int64_t k = 0; k < Wide<T>::lanes; ++k) {
    x[k] = static_cast<T>(__builtin_pow(static_cast<double>(x[k]), degree));
  }
  return x;
}

// K of one row (norm `left`) and of lanes (norms `right`), from their products.
template <class T>
typename Wide<T>::V value(const Mercer& kernel, typename Wide<T>::V product, T left,
                          typename Wide<T>::V right) {
  using V = typename Wide<T>::V;
  const auto gamma = static_cast<T>(kernel.gamma), coef0 = static_cast<T>(kernel.coef0);
  switch (kernel.kind) {
    case MercerKind::linear:
      return product;
    case MercerKind::rbf: {
      V minus = T{2} * product - right - left;
      minus = minus > V{} ? V{} : minus;  // a distance is not negative
      return exponential<T>(gamma * minus);
    }
    case MercerKind::poly:
      return power<T>(gamma * product + coef0, kernel.degree);
    case MercerKind::sigmoid:
      break;
  }
  V x = gamma * product + coef0;
  const V away = x < V{} ? x : -x;  // exp of what is not positive cannot overflow
  const V e = exponential<T>(away + away);
  const V size = (T{1} - e) / (T{1} + e);
  return x < V{} ? -size : size;
}

template <class T>
void values(const Mercer& kernel, const MercerTile<T>& tile) {
  using V = typename Wide<T>::V;
  constexpr int64_t lanes = Wide<T>::lanes;
  if (kernel.kind == MercerKind::linear) return;
  for (int64_t r = 0; r < tile.rows; ++r) {
    T* const row = tile.values + r * tile.stride;
    int64_t k = 0;
    for (; k + lanes <= tile.columns; k += lanes) {
      store(row + k, value<T>(kernel, load<V>(row + k), tile.left[r], load<V>(tile.right + k)));
    }
    if (k == tile.columns) continue;
    V product{}, right{};
    const auto rest = static_cast<unsigned long>(tile.columns - k) * sizeof(T);
    __builtin_memcpy(&product, row + k, rest);
    __builtin_memcpy(&right, tile.right + k, rest);
    const V out = value<T>(kernel, product, tile.left[r], right);
    __builtin_memcpy(row + k, &out, rest);
  }
}

template <class T, int vectors>
void products(const MercerRows<T>& rows, const MercerBlock<T>& block, int64_t i, int64_t lane,
              T* out) {
  using V = typename Wide<T>::V;
  V sums[vectors] = {};
  for (int64_t p = rows.begins[i]; p < rows.begins[i + 1]; ++p) {
    const T* const others = block.values + rows.columns[p] * block.lanes + lane;
    const T x = rows.values[p];
    for (int v = 0; v < vectors; ++v) sums[v] += x * load<V>(others + v * Wide<T>::lanes);
  }
  for (int v = 0; v < vectors; ++v) store(out + lane + v * Wide<T>::lanes, sums[v]);
}

template <class T>
void tile(const Mercer& kernel, const MercerRows<T>& rows, const MercerBlock<T>& block,
          int64_t begin, int64_t end, T* out) {
  constexpr int64_t four = 4 * Wide<T>::lanes;
  for (int64_t i = begin; i < end; ++i) {
    T* const row = out + (i - begin) * block.lanes;
    int64_t lane = 0;
    for (; lane + four <= block.lanes; lane += four) products<T, 4>(rows, block, i, lane, row);
    for (; lane < block.lanes; lane += Wide<T>::lanes) products<T, 1>(rows, block, i, lane, row);
  }
  values<T>(kernel, {out, end - begin, block.lanes, block.lanes, rows.norms + begin, block.norms});
}

void across(const float* tile, int64_t rows, int64_t lanes, int64_t used, const int64_t* place,
            int64_t stride, float* out) {
  for (int64_t lane = 0; lane < used; ++lane) {
    float* const row = out + place[lane] * stride;
    const float* const from = tile + lane;
    if (rows == kMercerTile) {
      for (int64_t i = 0; i < kMercerTile; ++i) row[i] = from[i * lanes];
    } else {
      for (int64_t i = 0; i < rows; ++i) row[i] = from[i * lanes];
    }
  }
}

void sums(const double* tile, int64_t rows, int64_t lanes, int64_t used, const double* coef,
          int64_t outputs, double* out) {
  using V = Wide<double>::V;
  for (int64_t i = 0; i < rows; ++i) {
    const double* const row = tile + i * lanes;
    double* const to = out + i * outputs;
    int64_t lane = 0;
    if (outputs == 1) {
      constexpr int64_t step = Wide<double>::lanes;
      V sums[8 / step] = {};
      for (; lane + 8 <= used; lane += 8) {
        for (int64_t k = 0; k < 8; k += step) {
          sums[k / step] += load<V>(row + lane + k) * load<V>(coef + lane + k);
        }
      }
      double sum[8];
      __builtin_memcpy(sum, sums, sizeof(sum));
      to[0] += ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
    }
    for (; lane < used; ++lane) {
      const double* const of_lane = coef + lane * outputs;
      for (int64_t k = 0; k < outputs; ++k) to[k] += row[lane] * of_lane[k];
    }
  }
}

}  // namespace

const MercerKernels& select_mercer();
const MercerKernels& select_mercer() {
  static constexpr MercerKernels kernels{values<float>, values<double>, tile<float>,
                                         tile<double>,  across,         sums};
  return kernels;
}

}  // namespace pegasos::PEGASOS_KERNELS
