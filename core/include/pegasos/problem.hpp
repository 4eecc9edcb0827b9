// The K binary problems (lanes) that share one set of rows, as the kernels see them.
//
// Lane k minimises   s_k/2 |w|^2 + tau_k b + sum_i phi(o_ik - y_ik (w.x_i + b))   over its members;
// phi is the loss, at the cost c_ik, and o the offset of the margin: 1, or the row's target. The
// balance tau is that of the duals, sum a y; it is 0 but for one class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "pegasos/columns.hpp"
#include "pegasos/loss.hpp"
#include "pegasos/rows.hpp"

namespace pegasos {

struct ProblemView {
  Rows rows;
  Loss loss = Loss::hinge;
  std::int64_t threads = 1;  // that a pass over the rows may use
  std::int64_t lanes = 1;
  Sides sides = {};
  Targets targets = {};
  const double* unit = nullptr;     // size of margins, per lane, or null: all one
  const double* balance = nullptr;  // tau, per lane, or null: all zero
  const double* weight = nullptr;   // sample weights, or null: all one
  std::int64_t weight_row_stride = 0;
  std::int64_t weight_lane_stride = 0;
  const double* positive = nullptr;       // class factor of y = +1, per lane
  const double* negative = nullptr;       // class factor of y = -1, per lane
  const double* s = nullptr;              // regularization, per lane
  const double* lam = nullptr;            // s / (rows of the lane), per lane
  const double* squared_norms = nullptr;  // |x_i|^2, the constant feature included

  std::int64_t n() const { return rows.n(); }
  std::int64_t stride() const { return padded_lanes(lanes); }
  // The side of the margin, -1 or +1; 0: the row is not a member of this lane.
  int side(std::int64_t row, std::int64_t lane) const { return sides.at(row, lane); }
  double offset(std::int64_t row, std::int64_t lane) const { return targets.at(row, lane); }
  double size(std::int64_t lane) const { return unit == nullptr ? 1.0 : unit[lane]; }
  double tau(std::int64_t lane) const { return balance == nullptr ? 0.0 : balance[lane]; }
  // c_ik, the cost of the row's loss.
  double cost(std::int64_t row, std::int64_t lane, int side) const {
    const double factor = side > 0 ? positive[lane] : negative[lane];
    return weight == nullptr ? factor
                             : factor * weight[row * weight_row_stride + lane * weight_lane_stride];
  }
};

// Rows lo .. hi-1; or a sample of them: eight consecutive rows of every so many times eight.
struct Span {
  std::int64_t lo, hi;
  std::int64_t every = 1;
};

// Lanes first .. last-1, a multiple of four columns but at the end, so that parts share no column.
struct LaneRange {
  std::int64_t first;
  std::int64_t last;
  std::int64_t width() const { return padded_lanes(last) - first; }
};

// The lanes as `parts` ranges; only for more than one lane.
inline LaneRange lane_range(std::int64_t lanes, std::int64_t parts, std::int64_t part) {
  const std::int64_t fours = (lanes + 3) / 4;
  return {fours * part / parts * 4, std::min(lanes, fours * (part + 1) / parts * 4)};
}

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
