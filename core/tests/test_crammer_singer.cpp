#include <algorithm>
#include <cmath>
#include <numeric>

#include "pegasos/solver/crammer_singer.hpp"
#include "runs.hpp"

namespace {

using namespace toy;

// Classes as lanes, each labelled against the rest; every sixth row takes no part.
struct Classes : ToyProblem {
  explicit Classes(const ProblemOptions& o) : ToyProblem(o) {
    Random random(o.seed + 1);
    for (int64_t i = 0; i < o.n; ++i) {
      const int64_t own = i % 6 == 5 ? -1 : random.below(o.lanes);
      owns.push_back(own);
      for (int64_t k = 0; k < o.lanes; ++k) {
        labels[i * o.lanes + k] = static_cast<std::int8_t>(own < 0 ? 0 : k == own ? 1 : -1);
      }
    }
    std::fill(s.begin(), s.end(), 2.0);
    view.sides = {.labels = labels.data(), .row_stride = o.lanes, .lane_stride = 1};
    view.s = s.data();
  }
  double cost_of(int64_t row) const { return cost(row, owns[row]); }

  std::vector<int64_t> owns;
};

struct JointRun {
  explicit JointRun(const Classes& classes)
      : problem(&classes),
        W(classes.weights_size()),
        duals(classes.pairs()),
        rows(static_cast<std::size_t>(classes.view.n())),
        leaving(rows.size()) {
    std::iota(rows.begin(), rows.end(), 0U);
    cursor[0].active = classes.view.n();
    pass[0].last_gap = pass[0].last_moved = std::numeric_limits<double>::infinity();
  }
  bool advance(const Budget& budget) {
    const JointState state{W.data(),       duals.data(),  rows.data(),
                           leaving.data(), cursor.data(), pass.data()};
    return pegasos::advance(problem->view, 5, state, budget);
  }
  std::string bytes() const { return bytes_of(W, duals, rows, leaving, cursor, pass); }

  // W recomputed from the duals.
  std::vector<double> weights() const {
    const ProblemView& view = problem->view;
    std::vector<double> out(W.size());
    std::vector<double> factors(static_cast<std::size_t>(view.stride()));
    for (int64_t i = 0; i < view.n(); ++i) {
      for (int64_t k = 0; k < view.lanes; ++k) {
        factors[k] = view.side(i, k) * duals[i * view.lanes + k] / view.s[0];
      }
      view.rows.axpy(i, factors.data(), out.data(), view.stride());
    }
    return out;
  }
  double dual() const {
    double sum = 0.0;
    for (double w : weights()) sum -= problem->view.s[0] / 2.0 * w * w;
    for (int64_t i = 0; i < problem->view.n(); ++i) {
      if (problem->owns[i] >= 0) sum += duals[i * problem->view.lanes + problem->owns[i]];
    }
    return sum;
  }
  double primal() const {
    const ProblemView& view = problem->view;
    double sum = 0.0;
    for (double w : W) sum += view.s[0] / 2.0 * w * w;
    std::vector<double> products(static_cast<std::size_t>(view.stride()));
    for (int64_t i = 0; i < view.n(); ++i) {
      if (problem->owns[i] < 0) continue;
      view.rows.dot(i, W.data(), view.stride(), products.data());
      double slack = 0.0;
      for (int64_t k = 0; k < view.lanes; ++k) {
        if (k != problem->owns[i]) {
          slack = std::max(slack, 1.0 + products[k] - products[problem->owns[i]]);
        }
      }
      sum += problem->cost_of(i) * slack;
    }
    return sum;
  }

  const Classes* problem;
  std::vector<double> W, duals;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint8_t> leaving;
  std::vector<JointCursor> cursor{JointCursor{}};
  std::vector<JointPass> pass{JointPass{}};
};

}  // namespace

TEST(crammer_singer_pauses_anywhere) {
  for (const Layout& layout : all_layouts()) {
    const Classes classes({.lanes = 3, .layout = layout});
    check_pausing(JointRun(classes), 150);
  }
}

TEST(crammer_singer_steps_raise_D_and_stay_feasible) {
  for (int64_t lanes : {2, 3, 5, 9}) {
    for (bool weighted : {false, true}) {
      CONTEXT("lanes " << lanes << ", weighted " << weighted);
      const Classes classes({.lanes = lanes, .weighted = weighted});
      JointRun run(classes);
      double before = 0.0;
      for (int64_t stop = 1; stop <= 200; ++stop) {
        CHECK(run.advance({kNever, stop, kNever}));
        const double now = run.dual();
        CHECK(now >= before - 1e-12 * std::abs(before));
        before = now;
      }
      for (int64_t i = 0; i < classes.view.n(); ++i) {
        const double* a = run.duals.data() + i * lanes;
        const int64_t own = classes.owns[i];
        double others = 0.0;
        for (int64_t k = 0; k < lanes; ++k) {
          CHECK(a[k] >= 0.0);
          if (k != own) others += a[k];
        }
        if (own >= 0) CHECK_CLOSE(a[own], others, 1e-12);
        if (own >= 0) CHECK(a[own] <= classes.cost_of(i));
      }
      const std::vector<double> weights = run.weights();
      for (std::size_t j = 0; j < weights.size(); ++j) CHECK_CLOSE(run.W[j], weights[j], 1e-10);
    }
  }
}

TEST(crammer_singer_closes_the_gap) {
  for (int64_t lanes : {2, 3, 5}) {
    CONTEXT("lanes " << lanes);
    const Classes classes({.lanes = lanes});
    JointRun run(classes);
    for (int64_t epoch = 1; epoch <= 4000; ++epoch) {
      run.advance({kNever, epoch * classes.view.n(), kNever});
      if (epoch % 10 == 0) run.cursor[0].recall = 1;
    }
    const double dual = run.dual();
    CHECK(dual > 0.0);
    CHECK(run.primal() - dual <= 1e-6 * dual);
    CHECK(run.primal() - dual >= -1e-9 * dual);
  }
}
