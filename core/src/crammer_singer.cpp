#include "pegasos/solver/crammer_singer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "pegasos/sampler.hpp"

namespace pegasos {
namespace {

using std::int64_t;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The tuned numbers of this solver, as DualCoordinate's (dual_tuning.hpp); not measured apart.
constexpr double kLeastMove = 1e-14;       // of a dual: smaller ones are rounding
constexpr double kMoveShareToLeave = 0.1;  // of the largest move of the last pass
constexpr int64_t kRowsAhead = 8;          // that are prefetched

// The shift beta at which sum_k max(0, levels_k - beta) is `total`; `levels` is reordered.
double shift_of(std::vector<double>& levels, double total) {
  std::sort(levels.begin(), levels.end(), std::greater<>());
  double sum = -total;
  double beta = levels[0] - total;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    sum += levels[k];
    const double shift = sum / static_cast<double>(k + 1);
    if (k + 1 < levels.size() && shift < levels[k + 1]) continue;
    beta = shift;
    break;
  }
  return beta;
}

class JointRun {
 public:
  JointRun(const ProblemView& problem, std::uint64_t seed, const JointState& state)
      : problem_(problem),
        seed_(seed),
        state_(state),
        cursor_(*state.cursor),
        pass_(*state.pass),
        products_(static_cast<std::size_t>(problem.stride())),
        factors_(static_cast<std::size_t>(problem.stride())),
        levels_(static_cast<std::size_t>(problem.lanes)) {}

  bool run(const Budget& budget) {
    for (int64_t work = budget.work;; --work) {
      if (cursor_.seen >= std::min(budget.stop_seen, budget.stop_steps)) return true;
      if (work <= 0) return false;
      if (cursor_.place == 0) begin_pass();
      const int64_t place = cursor_.place;
      if (place + kRowsAhead < cursor_.active)
        problem_.rows.prefetch(state_.rows[place + kRowsAhead]);
      state_.leaving[place] = visit(state_.rows[place]) ? 1 : 0;
      cursor_.steps = ++cursor_.seen;
      if (++cursor_.place == cursor_.active) end_pass();
    }
  }

 private:
  void begin_pass() {
    if (cursor_.recall != 0) {
      cursor_.recall = 0;
      cursor_.active = problem_.n();
      std::iota(state_.rows, state_.rows + cursor_.active, 0U);
    }
    for (int64_t i = cursor_.active; i > 1; --i) {
      const auto draw = static_cast<std::uint64_t>(cursor_.draws++);
      std::swap(state_.rows[i - 1], state_.rows[random_below(seed_, draw, i)]);
    }
    pass_.gap = pass_.moved = 0.0;
  }

  void end_pass() {
    const bool quiet = !(pass_.moved > kLeastMove);
    const bool whole = cursor_.active == problem_.n();
    cursor_.idle = quiet && whole ? cursor_.idle + 1 : 0;
    pass_.last_gap = pass_.gap;
    pass_.last_moved = pass_.moved > 0.0 ? kMoveShareToLeave * pass_.moved : kInfinity;
    int64_t kept = 0;
    for (int64_t place = 0; place < cursor_.active; ++place) {
      if (state_.leaving[place] == 0) state_.rows[kept++] = state_.rows[place];
    }
    cursor_.active = kept;
    cursor_.place = 0;
    if (kept == 0 || quiet) cursor_.recall = 1;
  }

  // The class of a row; -1 for a row that takes no part.
  int64_t class_of(int64_t row) const {
    for (int64_t k = 0; k < problem_.lanes; ++k) {
      if (problem_.side(row, k) == 1) return k;
    }
    return -1;
  }

  // Moves the duals of a row; true if it may leave the list.
  bool visit(int64_t row) {
    const int64_t own = class_of(row);
    if (own < 0) return true;
    const int64_t lanes = problem_.lanes;
    const double cost = problem_.cost(row, own, 1);
    const double q = problem_.squared_norms[row] / problem_.s[0];
    double* a = state_.duals + row * lanes;
    problem_.rows.dot(row, state_.W, problem_.stride(), products_.data());
    double rival = -kInfinity;
    for (int64_t k = 0; k < lanes; ++k) {
      if (k != own) rival = std::max(rival, products_[k]);
    }
    const double slack = 1.0 + rival - products_[own];
    meet(a, own, cost, slack);
    if (a[own] == 0.0 && slack <= 0.0) return -slack > pass_.last_moved;
    if (!(q > 0.0)) return move_empty(a, own, cost);
    return move(row, a, own, cost, q), false;
  }

  // What the row adds to P - D, before it moves.
  void meet(const double* a, int64_t own, double cost, double slack) {
    double term = cost * std::max(0.0, slack) - a[own];
    for (int64_t k = 0; k < problem_.lanes; ++k) {
      term += (k == own ? a[k] : -a[k]) * products_[k];
    }
    pass_.gap += term;
  }

  void move(int64_t row, double* a, int64_t own, double cost, double q) {
    const int64_t lanes = problem_.lanes;
    // A dual -a_k of another class is at most 0, that of the own class at most c. At the optimum
    // each is at that bound, or its level products + (k != own) - q (signed dual) is the shift.
    for (int64_t k = 0; k < lanes; ++k) {
      levels_[k] = k == own ? products_[k] - q * a[k] + q * cost : products_[k] + 1.0 + q * a[k];
    }
    sorted_ = levels_;
    const double beta = shift_of(sorted_, q * cost);
    double total = 0.0;
    bool any = false;
    for (int64_t k = 0; k < lanes; ++k) {
      if (k == own) continue;
      const double after = std::max(0.0, (levels_[k] - beta) / q);
      factors_[k] = (a[k] - after) / problem_.s[0];
      any = any || after != a[k];
      pass_.moved = std::max(pass_.moved, q * std::abs(after - a[k]));
      a[k] = after;
      total += after;
    }
    if (!any) return;
    total = std::min(total, cost);
    factors_[own] = (total - a[own]) / problem_.s[0];
    a[own] = total;
    problem_.rows.axpy(row, factors_.data(), state_.W, problem_.stride());
  }

  // A row without features has the loss c whatever w is.
  bool move_empty(double* a, int64_t own, double cost) {
    const int64_t other = own == 0 ? 1 : 0;
    if (a[own] != cost) pass_.moved = std::max(pass_.moved, 1.0);
    a[own] = a[other] = cost;
    return true;
  }

  const ProblemView& problem_;
  std::uint64_t seed_;
  const JointState& state_;
  JointCursor& cursor_;
  JointPass& pass_;
  std::vector<double> products_;
  std::vector<double> factors_;
  std::vector<double> levels_;
  std::vector<double> sorted_;
};

}  // namespace

bool advance(const ProblemView& problem, std::uint64_t seed, const JointState& state,
             const Budget& budget) {
  return JointRun(problem, seed, state).run(budget);
}

}  // namespace pegasos
