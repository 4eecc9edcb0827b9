// Copies of some sparse rows, side by side. A list of a few rows of many is visited again and
// again: where they lie all over a large array, every visit waits for addresses to be looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pegasos/rows.hpp"

namespace pegasos {

class NearRows {
 public:
  // Copies take at most so many bytes; there are none before rows are brought near.
  NearRows(const RowsView& all, std::int64_t most_bytes) : all_(all), most_bytes_(most_bytes) {}

  // Copies these rows, unless all of them are near already, and among few others; false if they
  // are too many.
  bool bring(const std::uint32_t* rows, std::int64_t count);
  // Where one of the rows that were brought is among `rows()`.
  std::uint32_t place(std::uint32_t row) const { return places_[row]; }
  const Rows& rows() const { return *near_; }
  bool any() const { return near_ != nullptr; }

 private:
  bool has(std::uint32_t row) const {
    const std::uint32_t place = places_[row];
    return place < brought_.size() && brought_[place] == row;
  }

  RowsView all_;
  std::int64_t most_bytes_;
  std::unique_ptr<std::uint32_t[]> places_;  // by row; says nothing of those that are not near
  std::vector<std::uint32_t> brought_;       // rows, by place
  std::vector<std::byte> values_, columns_, starts_;
  std::unique_ptr<Rows> near_;
};

}  // namespace pegasos
