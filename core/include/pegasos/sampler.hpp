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

// Where a run stands; four integers, kept in the caller's arrays.
struct Cursor {
  std::int64_t seen;     // rows visited since the start
  std::int64_t steps;    // steps taken since the start
  std::int64_t settled;  // permute: chunks of this epoch whose place is settled
  std::int64_t draws;    // permute: random numbers used to settle them
};

// permute: rows are dealt in chunks of 2^chunk_bits consecutive ones, visited in a fresh random
// order every epoch; chunk_bits = 0 is a plain permutation of the rows. The rows that fill no chunk
// come last. `chunks` are numbers of chunks; or, for chunk_bits = 0, any rows to be visited. The
// shuffle is drawn only as far as needed: entering an epoch costs nothing at any n.
class Sampler {
 public:
  Sampler(Sampling mode, std::uint64_t seed, std::int64_t n, int chunk_bits, Cursor* cursor,
          std::uint32_t* chunks)
      : mode_(mode),
        seed_(seed),
        n_(n),
        bits_(chunk_bits),
        mask_((std::int64_t{1} << chunk_bits) - 1),
        whole_(n >> chunk_bits),
        lead_(chunk_bits < 4 ? 16 : mask_ + 1),
        cursor_(cursor),
        chunks_(chunks),
        place_(cursor->seen % n) {}

  Cursor& cursor() const { return *cursor_; }
  // A copy that stands where the cursor is now. Loops work on one of their own, whose fields the
  // compiler can keep in registers.
  Sampler at_cursor() const {
    Sampler copy = *this;
    copy.place_ = cursor_->seen % n_;
    return copy;
  }
  // Enough visits to hide the memory's latency; at least a chunk, which streams by itself.
  std::int64_t lead() const { return lead_; }
  // Whether every row has been visited equally often (iid: on average).
  bool at_epoch_start() const { return place_ == 0; }
  // Visits in this epoch.
  std::int64_t place() const { return place_; }

  // The next row of the order.
  std::int64_t next() {
    const std::int64_t t = cursor_->seen++;
    const std::int64_t place = place_++;
    if (place_ == n_) place_ = 0;
    if (mode_ == Sampling::iid) return random_below(seed_, static_cast<std::uint64_t>(t), n_);
    if (mode_ == Sampling::cycle) return place;
    if (place == 0) cursor_->settled = 0;
    const std::int64_t slot = place >> bits_;
    return slot < whole_ ? row_of(slot, place) : place;
  }

  // The row that comes lead() visits after the next one, to be prefetched; -1 if not known.
  std::int64_t ahead() {
    if (mode_ == Sampling::iid) {
      return random_below(seed_, static_cast<std::uint64_t>(cursor_->seen + lead_), n_);
    }
    const std::int64_t place = place_ + lead_;
    if (mode_ == Sampling::cycle) return place < n_ ? place : -1;
    const std::int64_t slot = place >> bits_;
    // At an epoch's start its shuffle has not begun.
    return place_ > 0 && slot < whole_ ? row_of(slot, place) : -1;
  }

  // permute and cycle: how often each row has been visited.
  void count_visits(std::int64_t* counts) const;

 private:
  std::int64_t row_of(std::int64_t slot, std::int64_t place) {
    settle(slot);
    return (static_cast<std::int64_t>(chunks_[slot]) << bits_) + (place & mask_);
  }
  void settle(std::int64_t slot) {
    Cursor& c = *cursor_;
    for (; c.settled <= slot; ++c.settled) {
      // Where a large order will be touched is known long before: the numbers come from a counter.
      const std::int64_t later = c.settled + kLater;
      if (whole_ > kLarge && later < whole_) {
        __builtin_prefetch(
            chunks_ + later +
                random_below(seed_, static_cast<std::uint64_t>(c.draws + kLater), whole_ - later),
            1, 2);
      }
      const std::int64_t j = c.settled + random_below(seed_, static_cast<std::uint64_t>(c.draws++),
                                                      whole_ - c.settled);
      const std::uint32_t chosen = chunks_[j];
      chunks_[j] = chunks_[c.settled];
      chunks_[c.settled] = chosen;
    }
  }

  static constexpr std::int64_t kLater = 16;
  static constexpr std::int64_t kLarge = 1 << 16;

  Sampling mode_;
  std::uint64_t seed_;
  std::int64_t n_;
  int bits_;
  std::int64_t mask_;
  std::int64_t whole_;  // number of whole chunks
  std::int64_t lead_;
  Cursor* cursor_;
  std::uint32_t* chunks_;  // the order of the whole chunks
  std::int64_t place_;     // visits in this epoch
};

}  // namespace pegasos
