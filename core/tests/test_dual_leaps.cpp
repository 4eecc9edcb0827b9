#include "dual_run.hpp"

using namespace toy;

TEST(second_order_steps_climb_faster_to_the_same_optimum) {
  for (Loss loss : {Loss::hinge, Loss::squared_hinge}) {
    for (bool free : {false, true}) {
      CONTEXT("squared " << (loss == Loss::squared_hinge) << ", free " << free);
      ToyProblem problem({.n = 200, .bias = free ? 0.0 : 1.0, .weighted = true, .absent = true});
      problem.view.loss = loss;
      for (double& s : problem.s) s *= 0.05;  // slow for coordinates
      DualRun plain(problem);
      DualRun moves(problem);
      if (free) plain.set_free();
      if (free) moves.set_free();
      moves.set_second_order();
      plain.epochs(100);
      moves.epochs(100);
      CHECK_EQUAL(moves.cursors[0].known, kSpanSlots - 1);
      CHECK(apart(problem, moves) < 1e-12);
      for (int64_t i = 0; i < problem.view.n(); ++i) {
        CHECK(moves.duals[i] >= 0.0);
        if (loss == Loss::hinge) CHECK(moves.duals[i] <= problem.cost(i, 0));
      }
      if (loss == Loss::hinge && !free) {
        const auto [primal, dual] = primal_and_dual(problem, moves, 0);
        const auto [slow_primal, slow_dual] = primal_and_dual(problem, plain, 0);
        CHECK(dual > slow_dual);
        CHECK(primal - dual < slow_primal - slow_dual);
      }
      plain.epochs(20000);
      moves.epochs(5000);
      for (std::size_t p = 0; p < plain.W.size(); ++p) {
        CHECK_CLOSE(moves.W[p], plain.W[p], 1e-6);
      }
    }
  }
}

TEST(a_knot_has_the_rows_that_moved_most) {
  Knot knot{};
  Random random(5);
  std::vector<std::pair<double, int64_t>> all;
  for (int64_t row = 0; row < 500; ++row) {
    all.emplace_back(random.real(0.0, 1.0), row);
    if (all.back().first > knot.least) add_to_knot(knot, row, all.back().first);
  }
  std::sort(all.rbegin(), all.rend());
  std::vector<int64_t> rows(knot.rows, knot.rows + knot.count);
  CHECK_EQUAL(knot.count, kKnotRows);
  CHECK_EQUAL(knot.least, all[kKnotRows - 1].first);
  for (int64_t i = 0; i < kKnotRows; ++i) {
    CHECK(std::find(rows.begin(), rows.end(), all[i].second) != rows.end());
  }
}

TEST(a_knot_is_untied_where_no_dual_of_its_rows_would_move) {
  for (Loss loss : {Loss::hinge, Loss::squared_hinge}) {
    ToyProblem problem({.n = 100, .bias = 0.0, .weighted = true});
    problem.view.loss = loss;
    DualRun run(problem);
    run.set_free();
    run.epochs(2);
    Knot knot{};
    for (int64_t i = 0; i < 20; ++i) add_to_knot(knot, 3 * i, 1.0);
    const DualPoint at{run.duals.data(), run.W.data(), run.b.data(), run.pull[0]};
    for (int time = 0; time < 3; ++time) untie(problem.view, knot, at);
    CHECK(apart(problem, run) < 1e-12);
    for (int64_t i = 0; i < 20; ++i) {
      const int64_t row = 3 * i;
      double product = 0.0;
      problem.view.rows.dot(row, run.W.data(), 1, &product);
      const int y = problem.view.side(row, 0);
      const double c = problem.cost(row, 0);
      double gradient = 1.0 - y * (product + run.b[0]);
      if (loss == Loss::squared_hinge) gradient -= run.duals[row] / (2.0 * c);
      if (problem.squared_norms[row] == 0.0) continue;
      if (run.duals[row] > 0.0) CHECK(gradient > -1e-6);
      if (loss == Loss::squared_hinge || run.duals[row] < c) CHECK(gradient < 1e-6);
    }
  }
}
