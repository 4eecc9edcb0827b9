#include "pegasos/mercer.hpp"

#include <algorithm>
#include <concepts>
#include <vector>

#include "pegasos/parallel.hpp"

namespace pegasos {
namespace {

using std::int64_t;

// Shares of rows on threads, each in tiles of the same few rows.
template <class Visit>
void in_tiles(int64_t n, int64_t threads, const Visit& visit) {
  in_parallel(threads, [&](int64_t part) {
    const int64_t end = share_begin(n, threads, part + 1);
    for (int64_t i = share_begin(n, threads, part); i < end; i += kMercerTile) {
      visit(part, i, std::min(i + kMercerTile, end));
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
  const int64_t size = kMercerTile * block.lanes;
  std::vector<float> scratch(static_cast<std::size_t>(threads * size));
  in_tiles(rows.n, threads, [&](int64_t part, int64_t begin, int64_t end) {
    float* const tile = scratch.data() + part * size;
    kernels.tile32(kernel, rows, block, begin, end, tile);
    kernels.across(tile, end - begin, block.lanes, block.used, place, rows.n, out + begin);
  });
}

void mercer_scores(const Mercer& kernel, const MercerRows<double>& rows,
                   const MercerBlock<double>& block, const double* coef, int64_t outputs,
                   double* out, int64_t threads) {
  const MercerKernels& kernels = mercer_kernels();
  const int64_t size = kMercerTile * block.lanes;
  std::vector<double> scratch(static_cast<std::size_t>(threads * size));
  in_tiles(rows.n, threads, [&](int64_t part, int64_t begin, int64_t end) {
    double* const tile = scratch.data() + part * size;
    kernels.tile64(kernel, rows, block, begin, end, tile);
    kernels.sums(tile, end - begin, block.lanes, block.used, coef, outputs, out + begin * outputs);
  });
}

}  // namespace pegasos
