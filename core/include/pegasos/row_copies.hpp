// Copies of some sparse rows, side by side. A list of a few rows of many is visited again and
// again: where they lie all over a large array, every visit waits for addresses to be looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pegasos/rows.hpp"

namespace pegasos {

class RowCopies {
 public:
  // Copies take at most so many bytes; there are none before `copy`.
  RowCopies(const RowsView& all, std::int64_t most_bytes) : all_(all), most_bytes_(most_bytes) {}

  // Copies these rows, unless all of them are copied already, among few others; false if they
  // are too many.
  bool copy(const std::uint32_t* rows, std::int64_t count);
  // Where one of the copied rows is among `rows()`.
  std::uint32_t place(std::uint32_t row) const { return places_[row]; }
  const Rows& rows() const { return *copies_; }
  bool any() const { return copies_ != nullptr; }

 private:
  bool has(std::uint32_t row) const {
    const std::uint32_t place = places_[row];
    return place < copied_.size() && copied_[place] == row;
  }

  RowsView all_;
  std::int64_t most_bytes_;
  std::unique_ptr<std::uint32_t[]> places_;  // by row; says nothing of those that are not copied
  std::vector<std::uint32_t> copied_;        // rows, by place
  std::vector<std::byte> values_, columns_, starts_;
  std::unique_ptr<Rows> copies_;
};

}  // namespace pegasos
