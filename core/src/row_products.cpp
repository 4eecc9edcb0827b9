#include "pegasos/row_products.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>
#include <vector>

#include "pegasos/parallel.hpp"

namespace pegasos {
namespace {

using std::int64_t;

template <class I>
bool in_range(const RowsView& view, int64_t row) {
  using Unsigned = std::make_unsigned_t<I>;
  const I* const indptr = static_cast<const I*>(view.indptr) + row;
  const I* const columns = static_cast<const I*>(view.indices);
  // A sign bit stays where a column is negative, or the last one minus it.
  const auto last =
      static_cast<Unsigned>(std::min<int64_t>(view.d - 1, std::numeric_limits<I>::max()));
  Unsigned signs = 0;
  for (int64_t p = indptr[0]; p < indptr[1]; ++p) {
    const auto column = static_cast<Unsigned>(columns[p]);
    signs |= column | (last - column);
  }
  return static_cast<I>(signs) >= 0;
}

bool in_range(const RowsView& view, int64_t row) {
  if (view.storage == Storage::dense) return true;
  return view.index == Index::i32 ? in_range<std::int32_t>(view, row)
                                  : in_range<std::int64_t>(view, row);
}

}  // namespace

int64_t row_products(const Rows& rows, const double* W, int64_t lanes, double* out,
                     int64_t threads) {
  const int64_t n = rows.n(), stride = padded_lanes(lanes);
  std::atomic<int64_t> bad = -1;
  in_parallel(threads, [&](int64_t part) {
    std::vector<double> of_row(static_cast<std::size_t>(stride));  // no cache line is shared
    const int64_t end = share_begin(n, threads, part + 1);
    for (int64_t i = share_begin(n, threads, part); i < end; ++i) {
      if (!in_range(rows.view(), i)) {
        bad = i;
        return;
      }
      rows.dot(i, W, stride, of_row.data());
      std::copy_n(of_row.data(), lanes, out + i * lanes);
    }
  });
  return bad;
}

}  // namespace pegasos
