// Orders of the rows, and runs that are cut into pieces.
#pragma once

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "harness.hpp"
#include "pegasos/sampler.hpp"
#include "toy.hpp"

namespace toy {

constexpr int kChunkBits = 4;  // of 40 rows: two chunks and a rest

// The sampler's arrays.
struct Order {
  Order(Sampling sampling, std::uint64_t order_seed, int64_t rows, int bits)
      : mode(sampling), seed(order_seed), n(rows), chunk_bits(bits) {
    if (mode != Sampling::permute) return;
    chunks.resize(static_cast<std::size_t>(n >> chunk_bits));
    std::iota(chunks.begin(), chunks.end(), 0u);
  }
  Sampler sampler() { return Sampler(mode, seed, n, chunk_bits, cursor.data(), chunks.data()); }
  std::vector<int64_t> take(int64_t count) {
    std::vector<int64_t> rows;
    for (Sampler s = sampler(); count > 0; --count) rows.push_back(s.next());
    return rows;
  }

  Sampling mode;
  std::uint64_t seed;
  int64_t n;
  int chunk_bits;
  std::vector<Cursor> cursor{Cursor{}};
  std::vector<std::uint32_t> chunks;
};

template <class... Vectors>
std::string bytes_of(const Vectors&... vectors) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(vectors.data()), vectors.size() * sizeof(vectors[0])),
   ...);
  return bytes;
}

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A run has `bool advance(const Budget&)` and `std::string bytes()`, all of its state.
// However it is cut, it ends in the same bits. `begun` rows were visited before.
template <class Run>
void check_pausing(const Run& start, int64_t seen, int64_t begun = 0) {
  Run whole = start;
  CHECK(whole.advance({kNever, seen, kNever}));
  CHECK(whole.bytes() != start.bytes());
  for (int64_t work : {1, 7}) {
    CONTEXT("slices of " << work);
    Run sliced = start;
    int64_t calls = 1;
    while (!sliced.advance({work, seen, kNever})) ++calls;
    CHECK(calls >= (seen - begun) / work);
    CHECK(sliced.bytes() == whole.bytes());
  }
  Run stopped = start;
  for (int64_t stop = 0; stop <= seen; ++stop) CHECK(stopped.advance({kNever, stop, kNever}));
  CHECK(stopped.bytes() == whole.bytes());
}

}  // namespace toy
