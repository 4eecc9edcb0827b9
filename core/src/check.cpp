#include "pegasos/check.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "pegasos/parallel.hpp"

namespace pegasos {
namespace {

using std::int64_t;

template <class I>
Finding indptr_of(const RowsView& view, int64_t stored) {
  const I* indptr = static_cast<const I*>(view.indptr);
  if (indptr[0] != 0) return {Defect::indptr, 0, 0};
  for (int64_t i = 0; i < view.n; ++i) {
    if (indptr[i + 1] < indptr[i] || indptr[i + 1] > stored) return {Defect::indptr, i, 0};
  }
  return {};
}

template <class I>
Finding columns_of(const RowsView& view, int64_t row) {
  const I* indptr = static_cast<const I*>(view.indptr);
  const I* columns = static_cast<const I*>(view.indices);
  int64_t previous = -1;
  for (int64_t p = indptr[row]; p < indptr[row + 1]; ++p) {
    const int64_t column = columns[p];
    if (column < 0 || column >= view.d) return {Defect::column_range, row, column};
    if (column <= previous) return {Defect::column_order, row, column};
    previous = column;
  }
  return {};
}

// Where the values of a row begin, and how many there are.
template <class I>
std::pair<int64_t, int64_t> extent(const RowsView& view, int64_t row) {
  const I* indptr = static_cast<const I*>(view.indptr) + row;
  return {indptr[0], indptr[1] - indptr[0]};
}

// Called only for a row whose norm is not finite: finds the value that is to blame.
template <class V>
Finding blame(const RowsView& view, int64_t row) {
  const bool dense = view.storage == Storage::dense;
  const bool wide = view.index == Index::i64;
  const auto [begin, size] = dense  ? std::pair{row * view.row_stride, view.d}
                             : wide ? extent<std::int64_t>(view, row)
                                    : extent<std::int32_t>(view, row);
  if (size == 0) return {Defect::norm_overflow, row, view.d};  // the constant feature's doing
  const V* values = static_cast<const V*>(view.values) + begin;
  int64_t worst = 0;
  for (int64_t j = 1; j < size; ++j) {
    if (!std::isfinite(static_cast<double>(values[worst]))) break;
    // A NaN is larger than anything here.
    if (!(std::abs(static_cast<double>(values[j])) <=
          std::abs(static_cast<double>(values[worst])))) {
      worst = j;
    }
  }
  const Defect defect = std::isfinite(static_cast<double>(values[worst])) ? Defect::norm_overflow
                                                                          : Defect::not_finite;
  if (dense) return {defect, row, worst};
  return {defect, row,
          wide ? static_cast<const std::int64_t*>(view.indices)[begin + worst]
               : static_cast<const std::int32_t*>(view.indices)[begin + worst]};
}

Finding blame(const RowsView& view, int64_t row) {
  switch (view.value) {
    case Value::f32:
      return blame<float>(view, row);
    case Value::i8:
      return blame<std::int8_t>(view, row);
    case Value::u8:
      return blame<std::uint8_t>(view, row);
    case Value::f64:
      break;
  }
  return blame<double>(view, row);
}

Finding check_part(const Rows& rows, int64_t lo, int64_t hi, double* squared_norms) {
  const RowsView& view = rows.view();
  for (int64_t row = lo; row < hi; ++row) {
    if (view.storage == Storage::csr) {
      const Finding columns = view.index == Index::i32 ? columns_of<std::int32_t>(view, row)
                                                       : columns_of<std::int64_t>(view, row);
      if (columns.defect != Defect::none) return columns;
    }
    squared_norms[row] = rows.squared_norm(row);
    if (!std::isfinite(squared_norms[row])) return blame(view, row);
  }
  return {};
}

}  // namespace

Finding check_indptr(const RowsView& view, int64_t stored) {
  if (view.storage == Storage::dense) return {};
  return view.index == Index::i32 ? indptr_of<std::int32_t>(view, stored)
                                  : indptr_of<std::int64_t>(view, stored);
}

Finding check_rows(const Rows& rows, int64_t lo, int64_t hi, double* squared_norms,
                   int64_t threads) {
  const int64_t parts = std::clamp<int64_t>(threads, 1, std::max<int64_t>(1, hi - lo));
  std::vector<Finding> found(static_cast<std::size_t>(parts));
  in_parallel(parts, [&](int64_t part) {
    found[part] = check_part(rows, lo + share_begin(hi - lo, parts, part),
                             lo + share_begin(hi - lo, parts, part + 1), squared_norms);
  });
  for (const Finding& finding : found) {
    if (finding.defect != Defect::none) return finding;
  }
  return {};
}

}  // namespace pegasos
