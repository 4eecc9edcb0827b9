#include "pegasos/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "pegasos/compensated.hpp"
#include "pegasos/parallel.hpp"

namespace pegasos {
namespace {

using std::int64_t;

// Threads that write to one cache line, or to neighbours, wait for each other at every row.
constexpr int64_t kApart = 128;  // bytes
// Values of rows for every value of a thread's buffer, which is filled, added up, and takes memory.
constexpr int64_t kWorthBuffer = 8;

struct alignas(kApart) LaneSums {
  CompensatedSum loss, dual_positive, dual_negative, square_positive, square_negative, slope,
      slope_norm, cost_norm, dual_norm, level_positive, level_negative, level_size, level_slope;
  double support = 0.0;

  void add_to(GapSums& out) const {
    out.loss += loss.total();
    out.dual_positive += dual_positive.total();
    out.dual_negative += dual_negative.total();
    out.square_positive += square_positive.total();
    out.square_negative += square_negative.total();
    out.slope += slope.total();
    out.slope_norm += slope_norm.total();
    out.cost_norm += cost_norm.total();
    out.dual_norm += dual_norm.total();
    out.support += support;
    out.blocks += 1.0;
    out.level_positive += level_positive.total();
    out.level_negative += level_negative.total();
    out.level_size += level_size.total();
    out.level_slope += level_slope.total();
  }
};

// Some rows and some lanes of a pass; U and sums are those to add to.
struct Part {
  int64_t lo, hi;
  LaneRange lanes;
  double* U_positive;
  double* U_negative;
};

template <class L>
void add_rows_of(L loss, const ProblemView& problem, const GapPass& pass, const Part& part,
                 LaneSums* sums) {
  const int64_t lanes = problem.lanes;
  const int64_t stride = problem.stride();
  const int64_t first = part.lanes.first;
  const int64_t width = part.lanes.width();
  const bool split = part.U_negative != nullptr;
  std::vector<double> products(static_cast<std::size_t>(width));
  std::vector<double> positive(static_cast<std::size_t>(width));
  std::vector<double> negative(static_cast<std::size_t>(width));

  for (int64_t row = part.lo; row < part.hi; ++row) {
    int64_t met = first;
    while (met < part.lanes.last && problem.side(row, met) == 0) ++met;
    if (met == part.lanes.last) {
      if (pass.products != nullptr) {
        double* out = pass.products + (row - pass.lo) * lanes;
        std::fill(out + first, out + part.lanes.last, 0.0);
      }
      continue;
    }
    const double norm = std::sqrt(problem.squared_norms[row]);
    problem.rows.dot(row, pass.W + first, stride, width, products.data());
    bool any_positive = false;
    bool any_negative = false;
    for (int64_t k = first; k < part.lanes.last; ++k) {
      const int64_t at = (row - pass.lo) * lanes + k;
      const int64_t column = k - first;
      positive[column] = negative[column] = 0.0;
      if (pass.products != nullptr) pass.products[at] = products[column];
      const int y = problem.side(row, k);
      if (y == 0) continue;
      LaneSums& sum = sums[column];
      const double cost = problem.cost(row, k, y);
      const double offset = problem.offset(row, k);
      const double slack = offset - y * (products[column] + pass.b[k]);
      const double lost = loss.value(slack, cost);
      if (lost != 0.0) sum.loss.add(lost);  // a NaN is added, not hidden
      const double slope = loss.slope(slack, cost, kNear * problem.size(k));
      if (slope != 0.0) {
        sum.slope.add(slope);
        sum.slope_norm.add(slope * norm);
        if (std::abs(offset) > 1.0) sum.level_slope.add(slope * (std::abs(offset) - 1.0));
      }
      sum.cost_norm.add(cost * norm);
      const double dual = pass.duals[at];
      if (dual == 0.0) continue;
      const bool below = (dual < 0.0) != (y < 0);
      const double size = std::abs(dual);
      sum.support += 1.0;
      sum.dual_norm.add(size * norm);
      (below ? sum.dual_negative : sum.dual_positive).add(size);
      if constexpr (L::curved) {
        (below ? sum.square_negative : sum.square_positive).add(loss.square(dual, cost));
      }
      const double level = offset * dual - size;
      if (level != 0.0) {
        (below ? sum.level_negative : sum.level_positive).add(level);
        sum.level_size.add(std::abs(level));
      }
      if (split && below) {
        negative[column] = size;
        any_negative = true;
      } else {
        positive[column] = y * dual;
        any_positive = true;
      }
    }
    if (any_positive) {
      problem.rows.axpy(row, positive.data(), part.U_positive + first, stride, width);
    }
    if (any_negative) {
      problem.rows.axpy(row, negative.data(), part.U_negative + first, stride, width);
    }
  }
}

void add_part(const ProblemView& problem, const GapPass& pass, const Part& part, LaneSums* sums) {
  with_loss(problem.loss, [&](auto loss) { add_rows_of(loss, problem, pass, part, sums); });
}

// The sums of a thread.
using Sums = std::vector<LaneSums>;

// Each thread has lanes of its own, and needs no buffer.
void add_by_lanes(const ProblemView& problem, const GapPass& pass, int64_t parts) {
  std::vector<Sums> sums(static_cast<std::size_t>(parts));
  in_parallel(parts, [&](int64_t p) {
    const LaneRange lanes = lane_range(problem.lanes, parts, p);
    Sums own(static_cast<std::size_t>(lanes.width()));
    add_part(problem, pass, {pass.lo, pass.hi, lanes, pass.U_positive, pass.U_negative},
             own.data());
    sums[p] = std::move(own);
  });
  for (int64_t p = 0; p < parts; ++p) {
    const LaneRange lanes = lane_range(problem.lanes, parts, p);
    for (int64_t k = lanes.first; k < lanes.last; ++k) {
      sums[p][k - lanes.first].add_to(pass.sums[k]);
    }
  }
}

// Each thread has rows of its own; all but the first add to a buffer.
void add_by_rows(const ProblemView& problem, const GapPass& pass, int64_t parts) {
  const int64_t size = problem.rows.weight_rows() * problem.stride();
  const int64_t sides = pass.U_negative == nullptr ? 1 : 2;
  std::vector<Sums> sums(static_cast<std::size_t>(parts));
  std::vector<std::vector<double>> buffers(static_cast<std::size_t>(parts));
  in_parallel(parts, [&](int64_t p) {
    const int64_t rows = pass.hi - pass.lo;
    Part part{pass.lo + share_begin(rows, parts, p),
              pass.lo + share_begin(rows, parts, p + 1),
              {0, problem.lanes},
              pass.U_positive,
              pass.U_negative};
    std::vector<double> buffer;
    if (p > 0) {
      constexpr int64_t apart = kApart / sizeof(double);
      buffer.resize(static_cast<std::size_t>(sides * size + 2 * apart));
      part.U_positive = buffer.data() + apart;
      if (sides == 2) part.U_negative = part.U_positive + size;
    }
    Sums own(static_cast<std::size_t>(problem.lanes));
    add_part(problem, pass, part, own.data());
    sums[p] = std::move(own);
    buffers[p] = std::move(buffer);
  });
  for (int64_t p = 0; p < parts; ++p) {
    for (int64_t k = 0; k < problem.lanes; ++k) sums[p][k].add_to(pass.sums[k]);
    if (p == 0) continue;
    const double* buffer = buffers[p].data() + kApart / sizeof(double);
    for (int64_t j = 0; j < size; ++j) pass.U_positive[j] += buffer[j];
    if (sides == 2) {
      for (int64_t j = 0; j < size; ++j) pass.U_negative[j] += buffer[size + j];
    }
  }
}

// Threads that share the rows of a pass.
int64_t sharers(const ProblemView& problem, const GapPass& pass) {
  const int64_t sides = pass.U_negative == nullptr ? 1 : 2;
  const int64_t met = stored_values(problem.rows.view(), pass.lo, pass.hi);
  const int64_t most = met / (kWorthBuffer * sides * problem.rows.weight_rows());
  return std::max<int64_t>(1, std::min({problem.threads, pass.hi - pass.lo, most}));
}

}  // namespace

void add_gap_sums(const ProblemView& problem, const GapPass& pass) {
  const int64_t threads = problem.threads;
  if (threads > 1 && problem.lanes >= 4 * threads) {
    add_by_lanes(problem, pass, threads);
  } else {
    add_by_rows(problem, pass, sharers(problem, pass));
  }
}

}  // namespace pegasos
