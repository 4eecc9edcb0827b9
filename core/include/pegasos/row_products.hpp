// Scores of rows: the products with all lanes' weights.
#pragma once

#include <cstdint>

#include "pegasos/rows.hpp"

namespace pegasos {

// out[i, k] = w_k . x_i for W of padded lanes, `out` of plain ones. Rows need not have been
// checked: returns a row with a column out of range, which ends the work, or -1.
std::int64_t row_products(const Rows& rows, const double* W, std::int64_t lanes, double* out,
                          std::int64_t threads);

}  // namespace pegasos
