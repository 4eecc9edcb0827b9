#include "pegasos/mercer.hpp"

#include <algorithm>
#include <concepts>
#include <vector>

#include "pegasos/parallel.hpp"

namespace pegasos {
namespace {

using std::int64_t;

// K of tiles of rows and all lanes of a block, shares of the rows on threads: fill(begin, end,
// tile) computes one, use(begin, end, tile) takes it.
template <class T, class Fill, class Use>
void in_tiles(int64_t n, const MercerBlock<T>& block, int64_t threads, const Fill& fill,
              const Use& use) {
  const int64_t size = kMercerTile * block.lanes;
  std::vector<T> scratch(static_cast<std::size_t>(threads * size));
  in_parallel(threads, [&](int64_t part) {
    T* const tile = scratch.data() + part * size;
    const int64_t last = share_begin(n, threads, part + 1);
    for (int64_t begin = share_begin(n, threads, part); begin < last; begin += kMercerTile) {
      const int64_t end = std::min(begin + kMercerTile, last);
      fill(begin, end, tile);
      use(begin, end, tile);
    }
  });
}

template <class T>
void values(const MercerTile<T>& tile, int64_t threads,
            const std::invocable<const MercerTile<T>&> auto& apply) {
  in_parallel(threads, [&](int64_t part) {
    const int64_t begin = share_begin(tile.rows, threads, part);
    MercerTile<T> share = tile;
    share.values += begin * tile.stride;
    share.left += begin;
    share.rows = share_begin(tile.rows, threads, part + 1) - begin;
    apply(share);
  });
}

}  // namespace

void mercer_values(const Mercer& kernel, const MercerTile<float>& tile, int64_t threads) {
  values(tile, threads, [&](const auto& share) { mercer_kernels().values32(kernel, share); });
}
void mercer_values(const Mercer& kernel, const MercerTile<double>& tile, int64_t threads) {
  values(tile, threads, [&](const auto& share) { mercer_kernels().values64(kernel, share); });
}

void mercer_rows(const Mercer& kernel, const MercerRows<float>& rows,
                 const MercerBlock<float>& block, const int64_t* place, float* out,
                 int64_t threads) {
  const MercerKernels& kernels = mercer_kernels();
  in_tiles(
      rows.n, block, threads,
      [&](int64_t begin, int64_t end, float* tile) {
        kernels.tile32(kernel, rows, block, begin, end, tile);
      },
      [&](int64_t begin, int64_t end, const float* tile) {
        kernels.across(tile, end - begin, block.lanes, block.used, place, rows.n, out + begin);
      });
}

void mercer_scores(const Mercer& kernel, const MercerRows<double>& rows,
                   const MercerBlock<double>& block, const double* coef, int64_t outputs,
                   double* out, int64_t threads) {
  const MercerKernels& kernels = mercer_kernels();
  in_tiles(
      rows.n, block, threads,
      [&](int64_t begin, int64_t end, double* tile) {
        kernels.tile64(kernel, rows, block, begin, end, tile);
      },
      [&](int64_t begin, int64_t end, const double* tile) {
        kernels.sums(tile, end - begin, block.lanes, block.used, coef, outputs,
                     out + begin * outputs);
      });
}

}  // namespace pegasos
