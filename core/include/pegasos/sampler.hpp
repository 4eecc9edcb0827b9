// The order in which rows are visited.
//
// Random numbers come from a counter: number t of stream `seed` is a hash of (seed, t). So the
// generator has no state beyond the cursor, and a run that is cut into slices, or resumed from a
// checkpoint, visits the same rows.
#pragma once

#include <cstdint>

namespace pegasos {

// Number t of the stream: the SplitMix64 output function on a Weyl sequence.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t t) {
  std::uint64_t z = seed + (t + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// Uniform on 0 .. bound-1, up to a bias of bound / 2^64.
constexpr std::int64_t random_below(std::uint64_t seed, std::uint64_t t, std::int64_t bound) {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::int64_t>(
      (static_cast<wide>(random_bits(seed, t)) * static_cast<wide>(bound)) >> 64);
}

enum class Sampling : std::uint8_t { iid, permute, cycle };

// Where a run stands; eight integers, kept in the caller's arrays.
struct Cursor {
  std::int64_t seen;   // rows visited since the start
  std::int64_t steps;  // steps taken since the start
  std::int64_t slot;   // permute: blocks entered in this epoch
  std::int64_t lo;     // permute: the current block is rows lo .. hi-1
  std::int64_t hi;
  std::int64_t at;     // permute: rows visited in the current block
  std::int64_t drawn;  // permute: rows of the current block whose place is settled
  std::int64_t draws;  // permute: random numbers used
};

// permute: an epoch visits the blocks of `block_rows` consecutive rows in random order, and the
// rows of a block in random order; both shuffles are Fisher-Yates, drawn only as far as needed,
// so entering an epoch costs nothing at any n. block_rows >= n is a plain permutation.
class Sampler {
 public:
  Sampler(Sampling mode, std::uint64_t seed, std::int64_t n, std::int64_t block_rows,
          Cursor* cursor, std::uint32_t* order, std::uint32_t* blocks)
      : mode_(mode),
        seed_(seed),
        n_(n),
        block_rows_(block_rows),
        block_count_((n + block_rows - 1) / block_rows),
        cursor_(cursor),
        order_(order),
        blocks_(blocks) {}

  Cursor& cursor() const { return *cursor_; }

  // The next row of the order.
  std::int64_t next() const {
    Cursor& c = *cursor_;
    const std::int64_t t = c.seen++;
    if (mode_ == Sampling::iid) return random_below(seed_, static_cast<std::uint64_t>(t), n_);
    if (mode_ == Sampling::cycle) return t % n_;
    if (c.at == c.hi - c.lo) enter_block();
    settle(c.at + 1 + kAhead);
    return order_[c.lo + c.at++];
  }

  // The row that comes kAhead - 1 visits after the next one, to be prefetched; -1 if not known.
  std::int64_t ahead() const {
    const Cursor& c = *cursor_;
    const std::int64_t t = c.seen + kAhead - 1;
    if (mode_ == Sampling::iid) return random_below(seed_, static_cast<std::uint64_t>(t), n_);
    if (mode_ == Sampling::cycle) return t < n_ ? t : -1;
    const std::int64_t place = c.at + kAhead - 1;
    return place < c.drawn ? static_cast<std::int64_t>(order_[c.lo + place]) : -1;
  }

 private:
  // Rows of memory latency hidden: four is where prefetching stops paying on rows of 300 bytes.
  static constexpr std::int64_t kAhead = 4;

  void enter_block() const;
  void settle(std::int64_t wanted) const {
    Cursor& c = *cursor_;
    const std::int64_t size = c.hi - c.lo;
    if (wanted > size) wanted = size;
    for (; c.drawn < wanted; ++c.drawn) {
      const std::int64_t j = c.drawn + random_below(seed_, static_cast<std::uint64_t>(c.draws++),
                                                    size - c.drawn);
      const std::uint32_t row = order_[c.lo + j];
      order_[c.lo + j] = order_[c.lo + c.drawn];
      order_[c.lo + c.drawn] = row;
    }
  }

  Sampling mode_;
  std::uint64_t seed_;
  std::int64_t n_;
  std::int64_t block_rows_;
  std::int64_t block_count_;
  Cursor* cursor_;
  std::uint32_t* order_;   // n rows; a block's rows stay in its place
  std::uint32_t* blocks_;  // the blocks' order
};

}  // namespace pegasos
