#include "pegasos/solver/dual_knot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pegasos/problem.hpp"

namespace pegasos {
namespace {

using std::int64_t;

constexpr int kSweeps = 100;

// max g'x - x'Hx/2 over low <= x <= high, by coordinates.
struct BoxProblem {
  double H[kKnotRows][kKnotRows];
  double g[kKnotRows];  // the gradient at x
  double low[kKnotRows], high[kKnotRows];
  double x[kKnotRows];
  int64_t size;

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

// D as a function of the steps of the knot's duals.
BoxProblem box_of(const ProblemView& problem, const Knot& knot, const DualPoint& at) {
  const Rows& rows = problem.rows;
  const bool squared = problem.loss == Loss::squared_hinge;
  const double b = at.b != nullptr ? *at.b : 0.0;
  BoxProblem box{};
  box.size = knot.count;
  std::vector<double> x(static_cast<std::size_t>(rows.weight_rows()));  // a row at a time
  const auto add = [&](int64_t row, double factor) { rows.axpy(row, &factor, x.data(), 1); };
  for (int64_t i = 0; i < knot.count; ++i) {
    const int64_t row = knot.rows[i];
    const int y = problem.label(row, 0);
    const double cost = problem.cost(row, 0, y);
    double product = 0.0;
    rows.dot(row, at.w, 1, &product);
    box.g[i] = 1.0 - y * (product + b);
    box.low[i] = -at.a[row];
    box.high[i] = squared ? std::numeric_limits<double>::infinity() : cost - at.a[row];
    add(row, 1.0);
    for (int64_t j = 0; j <= i; ++j) {
      rows.dot(knot.rows[j], x.data(), 1, &product);
      const int sign = y * problem.label(knot.rows[j], 0);
      box.H[i][j] = box.H[j][i] = sign * (product / problem.s[0] + at.pull);
    }
    add(row, -1.0);
    if (squared) {
      box.g[i] -= at.a[row] / (2.0 * cost);
      box.H[i][i] += 1.0 / (2.0 * cost);
    }
  }
  return box;
}

}  // namespace

void untie(const ProblemView& problem, const Knot& knot, const DualPoint& at) {
  BoxProblem box = box_of(problem, knot, at);
  box.solve();
  for (int64_t i = 0; i < knot.count; ++i) {
    const double step = box.x[i];
    if (step == 0.0 || !std::isfinite(step)) continue;
    const int64_t row = knot.rows[i];
    const int y = problem.label(row, 0);
    double& a = at.a[row];
    const double before = a;
    a += step;
    if (step == box.low[i]) a = 0.0;  // to the last digit
    if (step == box.high[i]) a = problem.cost(row, 0, y);
    const double factor = (a - before) * y / problem.s[0];
    problem.rows.axpy(row, &factor, at.w, 1);
    if (at.b != nullptr) *at.b += at.pull * (a - before) * y;
  }
}

}  // namespace pegasos
