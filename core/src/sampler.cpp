#include "pegasos/sampler.hpp"

#include <algorithm>

namespace pegasos {

void Sampler::count_visits(std::int64_t* counts) const {
  std::fill(counts, counts + n_, cursor_->seen / n_);
  for (std::int64_t place = 0; place < place_; ++place) {
    const std::int64_t slot = place >> bits_;
    const bool dealt = mode_ == Sampling::permute && slot < whole_;
    ++counts[dealt ? (static_cast<std::int64_t>(chunks_[slot]) << bits_) + (place & mask_) : place];
  }
}

}  // namespace pegasos
