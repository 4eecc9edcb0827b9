#include "pegasos/solver/dual_knot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pegasos/problem.hpp"
#include "pegasos/solver/dual_span.hpp"

namespace pegasos {
namespace {

using std::int64_t;

constexpr int kSweeps = 100;

// max g'x - x'Hx/2 over low <= x <= high, by coordinates.
struct BoxProblem {
  double H[kKnotRows][kKnotRows];
  double g[kKnotRows];  // the gradient at x
  double low[kKnotRows], high[kKnotRows];
  double x[kKnotRows] = {};
  int64_t size = 0;

  void solve() {
    bool moved = true;
    for (int sweep = 0; moved && sweep < kSweeps; ++sweep) {
      moved = false;
      for (int64_t i = 0; i < size; ++i) {
        if (!(H[i][i] > 0.0)) continue;
        const double to = std::min(std::max(x[i] + g[i] / H[i][i], low[i]), high[i]);
        const double change = to - x[i];
        if (change == 0.0) continue;
        x[i] = to;
        for (int64_t j = 0; j < kKnotRows; ++j) g[j] -= change * H[i][j];
        moved = true;
      }
    }
  }
};

}  // namespace

void untie(const ProblemView& problem, const Knot& knot, const DualPoint& at) {
  const Rows& rows = problem.rows;
  const double s = problem.s[0];
  const bool squared = problem.loss == Loss::squared_hinge;
  BoxProblem box{};
  box.size = knot.count;
  std::vector<double> one(static_cast<std::size_t>(rows.weight_rows()));
  double labels[kKnotRows];
  for (int64_t i = 0; i < knot.count; ++i) labels[i] = problem.label(knot.rows[i], 0);
  for (int64_t i = 0; i < knot.count; ++i) {
    const int64_t row = knot.rows[i];
    const double cost = problem.cost(row, 0, problem.label(row, 0));
    const double a = at.a[row];
    double factor = 1.0;
    double product = 0.0;
    rows.dot(row, at.w, 1, &product);
    box.g[i] = 1.0 - labels[i] * (product + (at.b != nullptr ? *at.b : 0.0));
    box.low[i] = -a;
    box.high[i] = squared ? std::numeric_limits<double>::infinity() : cost - a;
    rows.axpy(row, &factor, one.data(), 1);
    for (int64_t j = 0; j <= i; ++j) {
      rows.dot(knot.rows[j], one.data(), 1, &product);
      box.H[i][j] = box.H[j][i] = labels[i] * labels[j] * (product / s + at.pull);
    }
    factor = -1.0;
    rows.axpy(row, &factor, one.data(), 1);
    if (squared) {
      box.g[i] -= a / (2.0 * cost);
      box.H[i][i] += 1.0 / (2.0 * cost);
    }
  }
  box.solve();
  for (int64_t i = 0; i < knot.count; ++i) {
    if (box.x[i] == 0.0 || !std::isfinite(box.x[i])) continue;
    const int64_t row = knot.rows[i];
    double& a = at.a[row];
    const double before = a;
    // To the bound itself, to the last digit.
    a = box.x[i] == box.low[i]    ? 0.0
        : box.x[i] == box.high[i] ? problem.cost(row, 0, problem.label(row, 0))
                                  : a + box.x[i];
    const double factor = (a - before) * labels[i] / s;
    rows.axpy(row, &factor, at.w, 1);
    if (at.b != nullptr) *at.b += at.pull * (a - before) * labels[i];
  }
}

}  // namespace pegasos
