#include "pegasos/solver/dual_span.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pegasos/row_sums.hpp"
#include "pegasos/solver/dual_tuning.hpp"

namespace pegasos {
namespace {

using std::int64_t;

// Solves H t = g by Cholesky's method; what depends on the changes before it gets no step.
void solve(int count, const double (*H)[kSpanSlots], const double* g, double* t) {
  double L[kSpanSlots][kSpanSlots] = {};
  double z[kSpanSlots] = {};
  for (int i = 0; i < count; ++i) {
    double left = H[i][i];
    double value = g[i];
    for (int j = 0; j < i; ++j) {
      if (L[j][j] == 0.0) continue;
      double product = H[i][j];
      for (int k = 0; k < j; ++k) product -= L[i][k] * L[j][k];
      L[i][j] = product / L[j][j];
      left -= L[i][j] * L[i][j];
      value -= L[i][j] * z[j];
    }
    if (!(left > kLeastIndependentShare * H[i][i])) continue;
    L[i][i] = std::sqrt(left);
    z[i] = value / L[i][i];
  }
  for (int i = count - 1; i >= 0; --i) {
    t[i] = 0.0;
    if (L[i][i] == 0.0) continue;
    double value = z[i];
    for (int k = i + 1; k < count; ++k) value -= L[k][i] * t[k];
    t[i] = value / L[i][i];
  }
}

template <class L>
class Move {
 public:
  Move(L loss, const ProblemView& problem, const Changes& changes, const DualPoint& at)
      : loss_(loss),
        problem_(problem),
        changes_(changes),
        at_(at),
        n_(problem.n()),
        features_(problem.rows.weight_rows()),
        s_(problem.s[0]),
        count_(static_cast<int>(*changes.known) + 1) {
    for (int i = 0; i < kSpanSlots; ++i) {  // the newest first; the last is the next point
      slots_[i] = (*changes.point + kSpanSlots - i) % kSpanSlots;
    }
  }

  void run() {
    const int64_t next = slots_[kSpanSlots - 1];
    if (count_ == 0 || !moves()) {
      std::copy(at_.a, at_.a + n_, a_of(next));
      std::copy(at_.w, at_.w + features_, w_of(next));
    }
    *changes_.point = next;
    *changes_.known = std::min<int64_t>(count_, kSpanSlots - 1);
  }

  // w <- sum of a y x / s
  void add_up(const double* a, double* w) const {
    std::fill_n(w, features_, 0.0);
    add_duals(problem_, a, w);
  }

 private:
  double* a_of(int64_t slot) const { return changes_.slots + slot * (n_ + features_); }
  double* w_of(int64_t slot) const { return a_of(slot) + n_; }
  double& sum_of(int64_t slot) const { return changes_.sums[2 * slot]; }
  double& balance_of(int64_t slot) const { return changes_.sums[2 * slot + 1]; }
  double cost(int64_t row) const { return problem_.cost(row, 0, problem_.side(row, 0)); }
  double b() const { return at_.b != nullptr ? *at_.b : 0.0; }

  // The step is put together in the oldest slot; if it is taken, the point to come is there.
  bool moves() {
    double* a[kSpanSlots];
    double* w[kSpanSlots];
    for (int i = 0; i < kSpanSlots; ++i) {
      a[i] = a_of(slots_[i]);
      w[i] = w_of(slots_[i]);
    }
    const int64_t newest = slots_[0];
    const int64_t next = slots_[kSpanSlots - 1];
    sum_of(newest) = kernels_.change(n_, at_.a, a[0]);
    if (problem_.targets.given()) sum_of(newest) = worth(a[0]);
    balance_of(newest) = balance(a[0]);
    SpanProducts products{};
    kernels_.change_and_products(features_, at_.w, w, count_, products);
    if (products.gram[0][0] < kSquareOfChangeWithFewDigits * products.w_square) {
      add_up(a[0], w[0]);
      kernels_.products(features_, at_.w, w, count_, products);
    }
    double t[kSpanSlots] = {};
    maximise(products, t);
    for (double& by : t) by *= *changes_.reach;
    for (int i = count_; i < kSpanSlots; ++i) {
      a[i] = a[0];
      w[i] = w[0];
    }
    kernels_.combine(n_, a, t, a_of(next));
    kernels_.combine(features_, w, t, w_of(next));
    sum_of(next) = clip(a_of(next), w_of(next));
    balance_of(next) = balance(a_of(next));
    if (!(rise(next) > 0.0)) {
      *changes_.reach = std::max(kLeastReach, kReachAfterFall * *changes_.reach);
      return false;
    }
    *changes_.reach = std::min(1.0, kReachAfterRise * *changes_.reach);
    kernels_.take(n_, at_.a, a[0], a_of(next));
    kernels_.take(features_, at_.w, w[0], w_of(next));
    for (std::size_t k = 0; k < clipped_.size(); ++k) {  // to the last digit
      at_.a[clipped_[k]] = a_of(next)[clipped_[k]] = bounds_[k];
    }
    sum_of(newest) += sum_of(next);
    balance_of(newest) += balance_of(next);
    if (at_.b != nullptr) *at_.b += at_.pull * balance_of(next);
    return true;
  }

  // Sum o a.
  double worth(const double* a) const {
    double sum = 0.0;
    for (int64_t i = 0; i < n_; ++i) sum += problem_.offset(i, 0) * a[i];
    return sum;
  }

  // Sum a y; without a free intercept it is not asked for.
  double balance(const double* a) const {
    double sum = 0.0;
    for (int64_t i = 0; at_.b != nullptr && i < n_; ++i) sum += a[i] * problem_.side(i, 0);
    return sum;
  }

  // The maximum of D over the span: H t = g.
  void maximise(SpanProducts& products, double* t) const {
    double g[kSpanSlots];
    for (int i = 0; i < count_; ++i) {
      const double own = balance_of(slots_[i]);
      g[i] = sum_of(slots_[i]) - s_ * products.with_w[i] - b() * own;
      for (int j = 0; j < count_; ++j) {
        double& h = products.gram[i][j];
        h = s_ * h + at_.pull * own * balance_of(slots_[j]);
      }
    }
    if constexpr (L::curved) add_curvatures(products, g);
    solve(count_, products.gram, g, t);
  }

  // What kappa a^2 / 2 takes off D.
  void add_curvatures(SpanProducts& products, double* g) const {
    for (int64_t row = 0; row < n_; ++row) {
      for (int i = 0; i < count_; ++i) {
        const double change = a_of(slots_[i])[row];
        if (change == 0.0) continue;
        const double bend = loss_.bend(change, cost(row));
        g[i] -= at_.a[row] * bend;
        for (int j = 0; j < count_; ++j) products.gram[i][j] += a_of(slots_[j])[row] * bend;
      }
    }
  }

  // The sum o a of what stays inside the box.
  double clip(double* step_a, double* step_w) {
    std::vector<double> factors;
    double sum = 0.0;
    for (int64_t i = 0; i < n_; ++i) {
      if (step_a[i] == 0.0) continue;
      const double to = at_.a[i] + step_a[i];
      const double inside = std::min(std::max(to, loss_.least(cost(i))), loss_.most(cost(i)));
      if (inside != to) {
        clipped_.push_back(static_cast<std::uint32_t>(i));
        bounds_.push_back(inside);
        factors.push_back((inside - to) * problem_.side(i, 0) / s_);
        step_a[i] = inside - at_.a[i];
      }
      sum += problem_.offset(i, 0) * step_a[i];
    }
    add_rows(problem_, clipped_.data(), static_cast<int64_t>(clipped_.size()), factors.data(),
             step_w);
    return sum;
  }

  // Of D by the step that a slot holds.
  double rise(int64_t slot) const {
    double slope = 0.0;
    double square = 0.0;
    kernels_.along(features_, at_.w, w_of(slot), &slope, &square);
    const double own = balance_of(slot);
    double sum = sum_of(slot) - s_ * (slope + square / 2.0) - own * (b() + at_.pull * own / 2.0);
    const double* step = a_of(slot);
    for (int64_t i = 0; L::curved && i < n_; ++i) {
      if (step[i] != 0.0) sum -= loss_.square_rise(at_.a[i], step[i], cost(i));
    }
    return sum;
  }

  L loss_;
  const ProblemView& problem_;
  const Changes& changes_;
  const DualPoint& at_;
  const SpanKernels& kernels_ = span_kernels();
  int64_t n_;
  int64_t features_;
  double s_;
  int count_;
  int64_t slots_[kSpanSlots];
  std::vector<std::uint32_t> clipped_;  // rows, and where they stay
  std::vector<double> bounds_;
};

}  // namespace

void move_in_span(const ProblemView& problem, const Changes& changes, const DualPoint& at) {
  with_loss(problem.loss, [&](auto loss) { Move(loss, problem, changes, at).run(); });
}

void renew_span(const ProblemView& problem, const Changes& changes, const DualPoint& at) {
  with_loss(problem.loss, [&](auto loss) { Move(loss, problem, changes, at).add_up(at.a, at.w); });
  *changes.known = -1;
}

}  // namespace pegasos
