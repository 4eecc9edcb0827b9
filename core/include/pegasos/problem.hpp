// The K binary problems (lanes) that share one set of rows, as the kernels see them.
//
// Lane k minimises   s_k/2 |w|^2 + sum_i c_ik max(0, 1 - y_ik w.x_i)   over the rows with y_ik !=
// 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "pegasos/rows.hpp"

namespace pegasos {

struct ProblemView {
  Rows rows;
  std::int64_t lanes = 1;
  const std::int8_t* labels = nullptr;  // n x lanes: -1, 0 (the row is not in this lane), +1
  const double* weight = nullptr;       // sample weights, or null: all one
  std::int64_t weight_row_stride = 0;
  std::int64_t weight_lane_stride = 0;
  const double* positive = nullptr;       // class factor of y = +1, per lane
  const double* negative = nullptr;       // class factor of y = -1, per lane
  const double* s = nullptr;              // regularization, per lane
  const double* lam = nullptr;            // s / (rows of the lane), per lane
  const double* squared_norms = nullptr;  // |x_i|^2, the constant feature included

  std::int64_t n() const { return rows.n(); }
  std::int64_t stride() const { return padded_lanes(lanes); }
  int label(std::int64_t row, std::int64_t lane) const { return labels[row * lanes + lane]; }
  // c_ik, the cost of the row's loss and the upper bound of its dual.
  double cost(std::int64_t row, std::int64_t lane, int label) const {
    const double factor = label > 0 ? positive[lane] : negative[lane];
    return weight == nullptr ? factor
                             : factor * weight[row * weight_row_stride + lane * weight_lane_stride];
  }
};

// Counts that stop at their largest value: errors / presentations then stays at most one.
inline void add_saturating(std::uint32_t& count, std::int64_t more) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  count = static_cast<std::uint32_t>(std::min(most, static_cast<std::int64_t>(count) + more));
}

// How far one call may go. Stopping early never changes what is computed, only when.
struct Budget {
  std::int64_t work;        // row visits before the call returns
  std::int64_t stop_seen;   // total examples seen at which to stop
  std::int64_t stop_steps;  // total steps taken at which to stop
};

}  // namespace pegasos
