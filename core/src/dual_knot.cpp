#include "pegasos/solver/dual_knot.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pegasos/problem.hpp"

namespace pegasos {
namespace {

using std::int64_t;

constexpr int kRounds = 40;
constexpr double kSettled = 1e-6;  // of the first move: what is left to the passes
constexpr double kRidge = 1e-10;   // of its square, added: rows that depend on others go far

// max g'x - x'Hx/2 over low <= x <= high. Coordinates find the bounds; rows that are nearly alike
// would take them for ever, so all that are between the bounds also move together.
struct BoxProblem {
  double H[kKnotRows][kKnotRows];
  double g[kKnotRows];  // the gradient at x
  double low[kKnotRows], high[kKnotRows];
  double x[kKnotRows];
  int64_t size;

  void solve() {
    const double first = sweep();
    for (int round = 0; round < kRounds; ++round) {
      leap();
      if (!(sweep() > kSettled * first)) return;
    }
  }

 private:
  // The largest move, as a change of the gradient.
  double sweep() {
    double largest = 0.0;
    for (int64_t i = 0; i < size; ++i) {
      if (!(H[i][i] > 0.0)) continue;
      const double before = x[i];
      move(i, std::min(std::max(x[i] + g[i] / H[i][i], low[i]), high[i]));
      largest = std::max(largest, H[i][i] * std::abs(x[i] - before));
    }
    return largest;
  }
  void move(int64_t i, double to) {
    const double change = to - x[i];
    if (change == 0.0) return;
    x[i] = to;
    for (int64_t j = 0; j < kKnotRows; ++j) g[j] -= change * H[i][j];
  }

  // Those between the bounds, towards their maximum, as far as the first bound.
  void leap() {
    int64_t free[kKnotRows];
    double step[kKnotRows];
    int64_t count = 0;
    for (int64_t i = 0; i < size; ++i) {
      if (H[i][i] > 0.0 && low[i] < x[i] && x[i] < high[i]) free[count++] = i;
    }
    towards_maximum(free, count, step);
    double reach = 1.0;
    int64_t first = -1;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = free[k];
      const double room = step[k] > 0.0 ? high[i] - x[i] : low[i] - x[i];
      if (step[k] == 0.0 || std::abs(room) >= reach * std::abs(step[k])) continue;
      reach = room / step[k];
      first = k;
    }
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = free[k];
      const double to = std::min(std::max(x[i] + reach * step[k], low[i]), high[i]);
      move(i, k != first ? to : step[k] > 0.0 ? high[i] : low[i]);
    }
  }

  // H step = g by Cholesky's method.
  void towards_maximum(const int64_t* free, int64_t count, double* step) const {
    double L[kKnotRows][kKnotRows];
    double z[kKnotRows];
    for (int64_t i = 0; i < count; ++i) {
      double left = (1.0 + kRidge) * H[free[i]][free[i]];
      double value = g[free[i]];
      for (int64_t j = 0; j < i; ++j) {
        double product = H[free[i]][free[j]];
        for (int64_t k = 0; k < j; ++k) product -= L[i][k] * L[j][k];
        L[i][j] = product / L[j][j];
        left -= L[i][j] * L[i][j];
        value -= L[i][j] * z[j];
      }
      L[i][i] = std::sqrt(std::max(left, kRidge * H[free[i]][free[i]]));
      z[i] = value / L[i][i];
    }
    for (int64_t i = count - 1; i >= 0; --i) {
      double value = z[i];
      for (int64_t k = i + 1; k < count; ++k) value -= L[k][i] * step[k];
      step[i] = value / L[i][i];
    }
  }
};

// D as a function of the steps of the knot's duals.
template <class L>
BoxProblem box_of(L loss, const ProblemView& problem, const Knot& knot, const DualPoint& at) {
  const Rows& rows = problem.rows;
  const double b = at.b != nullptr ? *at.b : 0.0;
  BoxProblem box{};
  box.size = knot.count;
  std::vector<double> x(static_cast<std::size_t>(rows.weight_rows()));  // a row at a time
  const auto add = [&](int64_t row, double factor) { rows.axpy(row, &factor, x.data(), 1); };
  for (int64_t i = 0; i < knot.count; ++i) {
    const int64_t row = knot.rows[i];
    const int y = problem.side(row, 0);
    const double cost = problem.cost(row, 0, y);
    double product = 0.0;
    rows.dot(row, at.w, 1, &product);
    box.g[i] = problem.offset(row, 0) - y * (product + b);
    box.low[i] = loss.least(cost) - at.a[row];
    box.high[i] = loss.most(cost) - at.a[row];
    add(row, 1.0);
    for (int64_t j = 0; j <= i; ++j) {
      rows.dot(knot.rows[j], x.data(), 1, &product);
      const int sign = y * problem.side(knot.rows[j], 0);
      box.H[i][j] = box.H[j][i] = sign * (product / problem.s[0] + at.pull);
    }
    add(row, -1.0);
    if constexpr (L::curved) {
      box.g[i] -= loss.bend(at.a[row], cost);
      box.H[i][i] += loss.curvature(cost);
    }
  }
  return box;
}

// Takes the steps that the box holds.
template <class L>
void take(L loss, const BoxProblem& box, const ProblemView& problem, const Knot& knot,
          const DualPoint& at) {
  for (int64_t i = 0; i < knot.count; ++i) {
    const double step = box.x[i];
    if (step == 0.0 || !std::isfinite(step)) continue;
    const int64_t row = knot.rows[i];
    const int y = problem.side(row, 0);
    const double cost = problem.cost(row, 0, y);
    double& a = at.a[row];
    const double before = a;
    a += step;
    if (step == box.low[i]) a = loss.least(cost);  // to the last digit
    if (step == box.high[i]) a = loss.most(cost);
    const double factor = (a - before) * y / problem.s[0];
    problem.rows.axpy(row, &factor, at.w, 1);
    if (at.b != nullptr) *at.b += at.pull * (a - before) * y;
  }
}

}  // namespace

void untie(const ProblemView& problem, const Knot& knot, const DualPoint& at) {
  BoxProblem box =
      with_loss(problem.loss, [&](auto loss) { return box_of(loss, problem, knot, at); });
  box.solve();
  with_loss(problem.loss, [&](auto loss) { take(loss, box, problem, knot, at); });
}

}  // namespace pegasos
