// What rows and lanes have one of each: lanes that share a column have a stride of 0 between them.
//
// The functions are always inlined: the row kernels, which include this, are compiled for several
// instruction sets.
#pragma once

#include <cstdint>

namespace pegasos {

// Sides of margins, and which rows are members of a lane.
struct Sides {
  const std::int8_t* labels = nullptr;  // -1 or +1; 0: not a member either
  std::int64_t row_stride = 0;
  std::int64_t lane_stride = 0;
  const std::int8_t* members = nullptr;  // 0: the row is not of the lane; null: all are
  std::int64_t member_row_stride = 0;
  std::int64_t member_lane_stride = 0;

  [[gnu::always_inline]] int at(std::int64_t row, std::int64_t lane) const {
    if (members != nullptr && members[row * member_row_stride + lane * member_lane_stride] == 0) {
      return 0;
    }
    return labels[row * row_stride + lane * lane_stride];
  }
};

// Offsets of margins, as float64 or float32; without either, all are 1.
struct Targets {
  const double* wide = nullptr;
  const float* narrow = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t lane_stride = 0;

  bool given() const { return wide != nullptr || narrow != nullptr; }

  [[gnu::always_inline]] double at(std::int64_t row, std::int64_t lane) const {
    const std::int64_t place = row * row_stride + lane * lane_stride;
    if (wide != nullptr) return wide[place];
    return narrow != nullptr ? static_cast<double>(narrow[place]) : 1.0;
  }
};

}  // namespace pegasos
