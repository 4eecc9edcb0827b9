// The best free intercept for given w.x, in a few passes over them and no second copy.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pegasos/certificate.hpp"
#include "pegasos/compensated.hpp"

namespace pegasos {
namespace {

using std::int64_t;

constexpr double kRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr int64_t kBins = 1024;
constexpr int64_t kFew = 4096;  // kinks that are sorted at once
constexpr int kMostPasses = 60;

template <class L>
class Lane {
 public:
  Lane(L loss, const ProblemView& problem, int64_t lane, const double* products, int64_t stride)
      : loss_(loss), problem_(problem), lane_(lane), products_(products), stride_(stride) {}

  // Calls body(kink, y, c) for the rows that count: the loss begins, or ends, at b = kink.
  template <class Body>
  void each(const Body& body) const {
    for (int64_t row = 0; row < problem_.n(); ++row) {
      const int y = problem_.side(row, lane_);
      if (y == 0) continue;
      const double cost = problem_.cost(row, lane_, y);
      if (cost > 0.0) body(y * problem_.offset(row, lane_) - products_[row * stride_], y, cost);
    }
  }

  double size() const { return problem_.size(lane_); }
  double tau() const { return problem_.tau(lane_); }

  // How the losses change in b, and how that does, at b.
  struct Slope {
    double slope, curvature;
  };
  Slope along(double b) const {
    CompensatedSum slope, curvature;
    each([&](double kink, int y, double cost) {
      const double slack = y * (kink - b);
      slope.add(-y * loss_.slope(slack, cost, 0.0));
      curvature.add(loss_.rounded_slope(slack, cost, 0.0, 0.0));
    });
    return {slope.total(), curvature.total()};
  }

  BestIntercept at(double b) const {
    const double near = kNear * size();
    CompensatedSum loss, slopes, slope_norm, level_slope;
    for (int64_t row = 0; row < problem_.n(); ++row) {
      const int y = problem_.side(row, lane_);
      if (y == 0) continue;
      const double cost = problem_.cost(row, lane_, y);
      const double offset = problem_.offset(row, lane_);
      const double slack = offset - y * (products_[row * stride_] + b);
      const double slope = loss_.slope(slack, cost, near);
      if (slope == 0.0) continue;
      slopes.add(slope);
      slope_norm.add(slope * std::sqrt(problem_.squared_norms[row]));
      if (std::abs(offset) > 1.0) level_slope.add(slope * (std::abs(offset) - 1.0));
      const double lost = loss_.value(slack, cost);
      if (lost != 0.0) loss.add(lost);
    }
    return {b, loss.total(), slopes.total(), slope_norm.total(), level_slope.total()};
  }

 private:
  L loss_;
  const ProblemView& problem_;
  int64_t lane_;
  const double* products_;
  int64_t stride_;
};

struct Kink {
  double at;
  double cost;
};

// The kinks in one part of the bracket.
struct Bin {
  double cost = 0.0;
  int64_t count = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void add(double kink, double kink_cost) {
    cost += kink_cost;
    ++count;
    least = std::min(least, kink);
    most = std::max(most, kink);
  }
};

// Of a loss without curvature, the slope in b starts at tau - (sum of c over y = +1) and rises by c
// at every kink: b is a weighted quantile. The bracket [lo, hi] of kinks that may be it shrinks by
// histograms.
template <class L>
double quantile_intercept(const Lane<L>& lane) {
  CompensatedSum positive, all;
  double lo = std::numeric_limits<double>::infinity();
  double hi = -lo;
  int64_t count = 0;
  lane.each([&](double kink, int y, double cost) {
    all.add(cost);
    if (y > 0) positive.add(cost);
    lo = std::min(lo, kink);
    hi = std::max(hi, kink);
    ++count;
  });
  if (count == 0 || !std::isfinite(lo) || !std::isfinite(hi)) return 0.0;
  const double target = positive.total() - lane.tau();
  // Sums that differ by rounding alone are the same.
  const double slack = 4 * kRoundoff * static_cast<double>(count) * all.total();
  if (target <= slack) return lo;                // nothing holds b up: any below is as good
  if (all.total() - target <= slack) return hi;  // nothing holds it down

  double below = 0.0;  // cost of the kinks left of the bracket
  double next = hi;    // the first kink right of it
  for (int pass = 0; count > kFew && pass < kMostPasses; ++pass) {
    const double scale = kBins / (hi - lo);
    if (!std::isfinite(scale)) break;  // all the same
    std::vector<Bin> bins(kBins);
    lane.each([&](double kink, int, double cost) {
      if (!(lo <= kink && kink <= hi)) return;
      bins[std::min(kBins - 1, static_cast<int64_t>((kink - lo) * scale))].add(kink, cost);
    });
    int64_t at = 0;
    while (at < kBins - 1 && (bins[at].count == 0 || below + bins[at].cost < target - slack)) {
      below += bins[at++].cost;
    }
    for (int64_t right = kBins - 1; right > at; --right) {
      if (bins[right].count > 0) next = bins[right].least;
    }
    count = bins[at].count;
    lo = bins[at].least;
    hi = bins[at].most;
    if (lo >= hi)
      return hi >= next || below + bins[at].cost > target + slack ? hi : (hi + next) / 2;
  }
  std::vector<Kink> kinks;
  kinks.reserve(static_cast<std::size_t>(count));
  lane.each([&](double kink, int, double cost) {
    if (lo <= kink && kink <= hi) kinks.push_back({kink, cost});
  });
  std::sort(kinks.begin(), kinks.end(), [](const Kink& a, const Kink& b) { return a.at < b.at; });
  std::size_t at = 0;
  double reached = below + kinks[0].cost;
  while (reached < target - slack && at + 1 < kinks.size()) reached += kinks[++at].cost;
  const double first = kinks[at].at;
  while (reached <= target + slack && at + 1 < kinks.size()) reached += kinks[++at].cost;
  const double last = reached <= target + slack ? std::max(next, kinks[at].at) : kinks[at].at;
  return (first + last) / 2;
}

// Of a curved loss, the slope in b is piecewise linear and increasing: Newton's method inside a
// bracket ends on the right piece. Beyond all kinks only a balance has anything to say: the bracket
// doubles until it holds the minimum.
template <class L>
double newton_intercept(const Lane<L>& lane) {
  double lo = std::numeric_limits<double>::infinity();
  double hi = -lo;
  lane.each([&](double kink, int, double) {
    lo = std::min(lo, kink);
    hi = std::max(hi, kink);
  });
  if (!(std::isfinite(lo) && std::isfinite(hi))) return 0.0;
  const double tau = lane.tau();
  double wider = std::max(lane.size(), hi - lo);
  for (; tau > 0.0 && std::isfinite(lo) && lane.along(lo).slope + tau > 0.0; wider *= 2)
    lo -= wider;
  for (; tau < 0.0 && std::isfinite(hi) && lane.along(hi).slope + tau < 0.0; wider *= 2)
    hi += wider;
  double b = std::clamp(0.0, lo, hi);
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const auto [slope, curvature] = lane.along(b);
    const double gradient = slope + tau;
    if (gradient == 0.0) return b;
    (gradient > 0.0 ? hi : lo) = b;
    double step = b - gradient / curvature;
    if (!(step > lo && step < hi)) step = lo + (hi - lo) / 2;
    if (std::abs(step - b) <= 4 * kRoundoff * std::max(lane.size(), std::abs(b))) return step;
    b = step;
  }
  return b;
}

}  // namespace

BestIntercept best_intercept(const ProblemView& problem, int64_t lane, const double* products,
                             int64_t products_stride) {
  return with_loss(problem.loss, [&](auto loss) {
    const Lane rows(loss, problem, lane, products, products_stride);
    if constexpr (loss.curved) return rows.at(newton_intercept(rows));
    return rows.at(quantile_intercept(rows));
  });
}

}  // namespace pegasos
