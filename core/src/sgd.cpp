#include "pegasos/solver/sgd.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pegasos {

using std::int64_t;

int64_t burst_updates(int64_t presentations, double g, double theta, double r, double lam) {
  const double m = static_cast<double>(presentations);
  const double slack = theta - g;                     // an update is due when it is >= 0
  const double last = std::fma(m - 1.0, lam, slack);  // what it can be at the last presentation
  if (!(last >= 0.0)) return 0;
  if (r <= lam) {
    if (slack >= 0.0) return presentations;
    double waits = std::ceil(-slack / lam);  // presentations without an update
    while (std::fma(waits, lam, slack) < 0.0) waits += 1.0;
    while (std::fma(waits - 1.0, lam, slack) >= 0.0) waits -= 1.0;
    return presentations - static_cast<int64_t>(waits);
  }
  if (last >= (m - 1.0) * r) return presentations;
  double passed = std::floor(last / r);  // thresholds r, 2r, ... not above it
  while ((passed + 1.0) * r <= last) passed += 1.0;
  while (passed * r > last) passed -= 1.0;
  return static_cast<int64_t>(passed) + 1;
}

namespace {

// Lanes = 1 is one problem, with no loop over lanes left; 0 is any number of them.
template <int64_t Lanes>
bool run(const ProblemView& problem, const Sampler& sampler, int64_t multiplicity, SgdState& state,
         const Budget& budget) {
  const int64_t lanes = Lanes != 0 ? Lanes : problem.lanes;
  const int64_t stride = Lanes != 0 ? Lanes : problem.stride();
  std::vector<double> products(static_cast<std::size_t>(stride));
  std::vector<double> factors(static_cast<std::size_t>(stride));
  Sampler order = sampler.at_cursor();
  Cursor& cursor = order.cursor();
  for (int64_t work = budget.work;; --work) {
    if (cursor.seen >= budget.stop_seen || cursor.steps >= budget.stop_steps) return true;
    if (work <= 0) return false;
    if (order.at_epoch_start()) std::fill(state.loss, state.loss + lanes, 0.0);

    const int64_t ahead = order.ahead();
    if (ahead >= 0) problem.rows.prefetch(ahead);
    const int64_t row = order.next();
    ++cursor.steps;
    if (state.draws != nullptr) add_saturating(state.draws[row], 1);
    problem.rows.dot(row, state.U, stride, products.data());

    bool any = false;
    for (int64_t k = 0; k < lanes; ++k) {
      factors[k] = 0.0;
      const int y = problem.side(row, k);
      if (y == 0) continue;
      const double lam = problem.lam[k];
      const double theta = lam * static_cast<double>(state.t[k]);
      const double g = y * products[k];
      state.t[k] += multiplicity;
      if (multiplicity == 1 && g > theta) continue;
      const double cost = problem.cost(row, k, y);
      if (g < theta || theta == 0.0) state.loss[k] += cost * (theta > 0.0 ? 1.0 - g / theta : 1.0);
      const int64_t updates =
          multiplicity == 1
              ? 1
              : burst_updates(multiplicity, g, theta, cost * problem.squared_norms[row], lam);
      if (updates == 0) continue;
      add_saturating(state.errors[row * lanes + k], updates);
      state.error_cost[k] += cost * static_cast<double>(updates);
      factors[k] = static_cast<double>(updates) * cost * y;
      any = true;
    }
    if (any) problem.rows.axpy(row, factors.data(), state.U, stride);
  }
}

}  // namespace

bool advance(const ProblemView& problem, const Sampler& sampler, int64_t multiplicity,
             SgdState& state, const Budget& budget) {
  return problem.lanes == 1 ? run<1>(problem, sampler, multiplicity, state, budget)
                            : run<0>(problem, sampler, multiplicity, state, budget);
}

}  // namespace pegasos
