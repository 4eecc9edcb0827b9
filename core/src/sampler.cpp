#include "pegasos/sampler.hpp"

namespace pegasos {

void Sampler::enter_block() const {
  Cursor& c = *cursor_;
  if (c.slot == block_count_) c.slot = 0;
  const std::int64_t j =
      c.slot +
      random_below(seed_, static_cast<std::uint64_t>(c.draws++), block_count_ - c.slot);
  const std::uint32_t block = blocks_[j];
  blocks_[j] = blocks_[c.slot];
  blocks_[c.slot++] = block;
  c.lo = static_cast<std::int64_t>(block) * block_rows_;
  c.hi = c.lo + block_rows_ < n_ ? c.lo + block_rows_ : n_;
  c.at = 0;
  c.drawn = 0;
}

}  // namespace pegasos
