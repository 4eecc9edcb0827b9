#include "pegasos/solver/dual.hpp"

#include <algorithm>
#include <vector>

namespace pegasos {

using std::int64_t;

namespace {

// Lanes = 1 is one problem, with no loop over lanes left; 0 is any number of them.
template <int64_t Lanes>
bool run(const ProblemView& problem, const Sampler& sampler, DualState& state,
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
    problem.rows.dot(row, state.W, stride, products.data());

    const double squared_norm = problem.squared_norms[row];
    bool any = false;
    for (int64_t k = 0; k < lanes; ++k) {
      factors[k] = 0.0;
      const int y = problem.label(row, k);
      if (y == 0) continue;
      const double cost = problem.cost(row, k, y);
      const double slack = 1.0 - y * products[k];
      if (slack > 0.0) state.loss[k] += cost * slack;
      if (slack == 0.0) continue;
      double& dual = state.duals[row * lanes + k];
      const double target = squared_norm > 0.0 ? dual + problem.s[k] * slack / squared_norm
                                               : (slack > 0.0 ? cost : 0.0);
      const double clipped = std::min(cost, std::max(0.0, target));
      if (clipped == dual) continue;
      factors[k] = (clipped - dual) * y / problem.s[k];
      dual = clipped;
      any = true;
    }
    if (any) problem.rows.axpy(row, factors.data(), state.W, stride);
  }
}

}  // namespace

bool advance(const ProblemView& problem, const Sampler& sampler, DualState& state,
             const Budget& budget) {
  return problem.lanes == 1 ? run<1>(problem, sampler, state, budget)
                            : run<0>(problem, sampler, state, budget);
}

}  // namespace pegasos
