// Looks at every stored value once, before anything is trained on it.
#pragma once

#include <cstdint>

#include "pegasos/rows.hpp"

namespace pegasos {

enum class Defect : std::uint8_t {
  none,
  indptr,         // not 0 = indptr[0] <= indptr[1] <= ... <= stored values
  column_range,   // a column index outside 0 .. d-1
  column_order,   // column indices of a row not strictly increasing
  not_finite,     // NaN or infinity
  norm_overflow,  // |x|^2 is beyond float64
};

struct Finding {
  Defect defect = Defect::none;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

// Row pointers only; must pass before a CSR row is touched.
Finding check_indptr(const RowsView& view, std::int64_t stored);

// Checks rows lo .. hi-1 and writes their squared norms, the constant feature included. The first
// row that is at fault is named, however many threads look.
Finding check_rows(const Rows& rows, std::int64_t lo, std::int64_t hi, double* squared_norms,
                   std::int64_t threads);

}  // namespace pegasos
