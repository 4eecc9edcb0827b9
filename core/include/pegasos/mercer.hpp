// Kernels of rows (Mercer's): K(x, z) is a function of x.z, |x|^2 and |z|^2.
//
// Sparse rows meet a block of others that is dense and transposed, so that a stored value serves
// all lanes of the block at once; the kernel is applied to products while they are in the first
// cache. float rows of K steer a solver, double ones prove.
#pragma once

#include <cstdint>

namespace pegasos {

enum class MercerKind : std::uint8_t { linear, rbf, poly, sigmoid };

// x.z, exp(-gamma |x - z|^2), (gamma x.z + coef0)^degree, tanh(gamma x.z + coef0).
struct Mercer {
  MercerKind kind;
  double gamma, degree, coef0;
};

// CSR rows with squared norms; columns are in range.
template <class T>
struct MercerRows {
  std::int64_t n, d;
  const T* values;
  const std::int32_t* columns;
  const std::int64_t* begins;
  const T* norms;
};

// Rows to meet them, (d, lanes): a multiple of kMercerLanes, of which those beyond `used` are
// zeros.
inline constexpr std::int64_t kMercerLanes = 16;
template <class T>
struct MercerBlock {
  std::int64_t lanes, used;
  const T* values;
  const T* norms;
};

// K in place of products: values[r * stride + c] of rows r and columns c, `left` and `right` their
// squared norms.
template <class T>
struct MercerTile {
  T* values;
  std::int64_t rows, columns, stride;
  const T* left;
  const T* right;
};
void mercer_values(const Mercer& kernel, const MercerTile<float>& tile, std::int64_t threads);
void mercer_values(const Mercer& kernel, const MercerTile<double>& tile, std::int64_t threads);

// out[place[lane] * rows.n + i] = K of row i and lane.
void mercer_rows(const Mercer& kernel, const MercerRows<float>& rows,
                 const MercerBlock<float>& block, const std::int64_t* place, float* out,
                 std::int64_t threads);

// out[i, k] += sum over lanes of K(row i, lane) coef[lane, k], k < outputs.
void mercer_scores(const Mercer& kernel, const MercerRows<double>& rows,
                   const MercerBlock<double>& block, const double* coef, std::int64_t outputs,
                   double* out, std::int64_t threads);

// The passes behind them, once per instruction set. A tile has up to kMercerTile rows, each of all
// lanes of the block.
inline constexpr std::int64_t kMercerTile = 16;
struct MercerKernels {
  void (*values32)(const Mercer&, const MercerTile<float>&);
  void (*values64)(const Mercer&, const MercerTile<double>&);
  void (*tile32)(const Mercer&, const MercerRows<float>&, const MercerBlock<float>&,
                 std::int64_t begin, std::int64_t end, float* out);
  void (*tile64)(const Mercer&, const MercerRows<double>&, const MercerBlock<double>&,
                 std::int64_t begin, std::int64_t end, double* out);
  // A tile to rows of K: out[place[lane] * stride + row].
  void (*across)(const float* tile, std::int64_t rows, std::int64_t lanes, std::int64_t used,
                 const std::int64_t* place, std::int64_t stride, float* out);
  // out[row, k] += sum over lanes of the tile times coef[lane, k].
  void (*sums)(const double* tile, std::int64_t rows, std::int64_t lanes, std::int64_t used,
               const double* coef, std::int64_t outputs, double* out);
};
const MercerKernels& mercer_kernels();

}  // namespace pegasos
