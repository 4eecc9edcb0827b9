// Rows as svmlight text: numbers in the fewest digits that read back as the same bits.
#pragma once

#include <cstdint>
#include <string>

namespace pegasos {

// Pointers that may be null: label_ends (one label a row then), queries, values of one type.
struct SvmlightText {
  int64_t n;
  const double* labels;
  const int64_t* label_ends;
  const int64_t* queries;
  const int64_t* ends;
  const int32_t* indices;
  const int64_t* wide_indices;
  const float* single_values;
  const double* values;
  int64_t first_index;
};

std::string svmlight_text(const SvmlightText& rows);

}  // namespace pegasos
