#include "pegasos/row_copies.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace pegasos {
namespace {

using std::int64_t;

constexpr int64_t kNarrow = int64_t{1} << 16;  // features whose numbers fit 16 bits
constexpr int64_t kLargest = std::numeric_limits<std::int32_t>::max();

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

// No more is taken than asked for.
void make_room(std::vector<std::byte>& bytes, int64_t size) {
  const auto wanted = static_cast<std::size_t>(size);
  if (bytes.capacity() < wanted) {
    bytes = {};
    bytes.reserve(wanted);
  }
  bytes.resize(wanted);
}

// `count` column numbers, of which `from` is the first.
template <class From, class To>
void copy_columns(const void* columns, int64_t from, int64_t count, void* out, int64_t to) {
  const From* first = static_cast<const From*>(columns) + from;
  To* begin = static_cast<To*>(out) + to;
  for (int64_t j = 0; j < count; ++j) begin[j] = static_cast<To>(first[j]);
}

using CopyColumns = void (*)(const void*, int64_t, int64_t, void*, int64_t);

template <class To>
CopyColumns copier(Index from) {
  return from == Index::i32 ? copy_columns<std::int32_t, To> : copy_columns<int64_t, To>;
}

}  // namespace

bool RowCopies::copy(const std::uint32_t* rows, int64_t count) {
  if (!places_) places_ = std::make_unique<std::uint32_t[]>(static_cast<std::size_t>(all_.n));
  const bool close = copies_ && 2 * count > copies_->n();  // of many, a few lie apart again
  if (close && std::all_of(rows, rows + count, [&](std::uint32_t row) { return has(row); })) {
    return true;
  }
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) size += start_of(all_, rows[i] + 1) - start_of(all_, rows[i]);
  const int64_t value = value_bytes(all_.value);
  const bool narrow = all_.d <= kNarrow;  // less to read
  const int64_t column = narrow ? sizeof(std::uint16_t) : sizeof(std::int32_t);
  const int64_t start = sizeof(std::int32_t);
  if (all_.d > kLargest || size * (value + column) + (count + 1) * start > most_bytes_) {
    return false;
  }
  copies_.reset();
  copied_.assign(rows, rows + count);
  make_room(values_, size * value);
  make_room(columns_, size * column);
  make_room(starts_, (count + 1) * start);
  const CopyColumns copy_columns_to =
      narrow ? copier<std::uint16_t>(all_.index) : copier<std::int32_t>(all_.index);
  auto* starts = reinterpret_cast<std::int32_t*>(starts_.data());
  starts[0] = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = start_of(all_, rows[i]);
    const int64_t stored = start_of(all_, rows[i] + 1) - first;
    if (stored > 0) {
      std::memcpy(values_.data() + starts[i] * value,
                  static_cast<const std::byte*>(all_.values) + first * value,
                  static_cast<std::size_t>(stored * value));
      copy_columns_to(all_.indices, first, stored, columns_.data(), starts[i]);
    }
    places_[rows[i]] = static_cast<std::uint32_t>(i);
    starts[i + 1] = static_cast<std::int32_t>(starts[i] + stored);
  }
  RowsView view = all_;
  view.values = values_.data();
  view.indices = columns_.data();
  view.indptr = starts_.data();
  view.index = narrow ? Index::u16 : Index::i32;
  view.n = count;
  copies_ = std::make_unique<Rows>(view);
  return true;
}

}  // namespace pegasos
