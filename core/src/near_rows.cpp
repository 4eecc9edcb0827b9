#include "pegasos/near_rows.hpp"

#include <algorithm>
#include <cstring>

namespace pegasos {
namespace {

using std::int64_t;

int64_t value_bytes(Value value) {
  switch (value) {
    case Value::f32:
      return 4;
    case Value::i8:
    case Value::u8:
      return 1;
    case Value::f64:
      break;
  }
  return 8;
}

int64_t index_bytes(Index index) { return index == Index::i32 ? 4 : 8; }

int64_t start_of(const RowsView& x, int64_t row) {
  if (x.index == Index::i32) return static_cast<const std::int32_t*>(x.indptr)[row];
  return static_cast<const int64_t*>(x.indptr)[row];
}

// No more is taken than asked for.
void make_room(std::vector<std::byte>& bytes, int64_t size) {
  const auto wanted = static_cast<std::size_t>(size);
  if (bytes.capacity() < wanted) {
    bytes = {};
    bytes.reserve(wanted);
  }
  bytes.resize(wanted);
}

const std::byte* at(const void* array, int64_t bytes) {
  return static_cast<const std::byte*>(array) + bytes;
}

}  // namespace

bool NearRows::bring(const std::uint32_t* rows, int64_t count) {
  if (!places_) places_ = std::make_unique<std::uint32_t[]>(static_cast<std::size_t>(all_.n));
  const bool close = near_ && 2 * count > near_->n();  // of many, a few lie apart again
  if (close && std::all_of(rows, rows + count, [&](std::uint32_t row) { return has(row); })) {
    return true;
  }
  const int64_t value = value_bytes(all_.value);
  const int64_t index = index_bytes(all_.index);
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) size += start_of(all_, rows[i] + 1) - start_of(all_, rows[i]);
  if (size * (value + index) + (count + 1) * index > most_bytes_) return false;
  near_.reset();
  brought_.assign(rows, rows + count);
  std::sort(brought_.begin(), brought_.end());  // as they lie in memory
  make_room(values_, size * value);
  make_room(indices_, size * index);
  make_room(starts_, (count + 1) * index);
  int64_t begin = 0;
  for (int64_t i = 0; i <= count; ++i) {
    std::memcpy(starts_.data() + i * index, &begin, static_cast<std::size_t>(index));
    if (i == count) break;
    const std::uint32_t row = brought_[i];
    const int64_t first = start_of(all_, row);
    const int64_t stored = start_of(all_, row + 1) - first;
    std::memcpy(values_.data() + begin * value, at(all_.values, first * value),
                static_cast<std::size_t>(stored * value));
    std::memcpy(indices_.data() + begin * index, at(all_.indices, first * index),
                static_cast<std::size_t>(stored * index));
    places_[row] = static_cast<std::uint32_t>(i);
    begin += stored;
  }
  RowsView view = all_;
  view.values = values_.data();
  view.indices = indices_.data();
  view.indptr = starts_.data();
  view.n = count;
  near_ = std::make_unique<Rows>(view);
  return true;
}

}  // namespace pegasos
