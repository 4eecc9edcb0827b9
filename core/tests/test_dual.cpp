#include "dual_run.hpp"

using namespace toy;

TEST(duals_stay_in_their_box) {
  const ToyProblem problem({.lanes = 3, .weighted = true, .absent = true});
  DualRun run(problem);
  for (int epoch = 0; epoch < 30; ++epoch) {
    run.epochs(1);
    for (int64_t i = 0; i < problem.view.n(); ++i) {
      for (int64_t k = 0; k < 3; ++k) {
        const double dual = run.duals[i * 3 + k];
        if (problem.view.side(i, k) == 0) CHECK_EQUAL(dual, 0.0);
        CHECK(0.0 <= dual && dual <= problem.cost(i, k));
      }
    }
  }
}

TEST(w_is_the_sum_of_the_duals_rows) {
  for (int64_t lanes : {1, 3, 9}) {
    const ToyProblem problem({.lanes = lanes, .weighted = true, .absent = true});
    DualRun run(problem);
    run.epochs(50);
    std::vector<double> want(run.W.size());
    for (int64_t i = 0; i < problem.view.n(); ++i) {
      for (int64_t k = 0; k < lanes; ++k) {
        const double dual = run.duals[i * lanes + k];
        problem.data.axpy(i, dual * problem.view.side(i, k) / problem.s[k], want, problem.stride(),
                          k);
      }
    }
    for (std::size_t p = 0; p < want.size(); ++p) CHECK_CLOSE(run.W[p], want[p], 1e-12);
  }
}

TEST(dual_ascent_ascends_and_closes_the_gap) {
  for (int64_t lanes : {1, 3}) {
    for (bool shifted : {false, true}) {
      CONTEXT("lanes " << lanes << ", shifted " << shifted);
      const ToyProblem problem(
          {.lanes = lanes, .weighted = true, .absent = true, .shifted = shifted});
      DualRun run(problem);
      std::vector<double> best(static_cast<std::size_t>(lanes), 0.0);
      for (int epoch = 0; epoch < 200; ++epoch) {
        run.epochs(1);
        for (int64_t k = 0; k < lanes; ++k) {
          const double dual = primal_and_dual(problem, run, k).second;
          CHECK(dual >= best[k] - 1e-12);
          best[k] = dual;
        }
      }
      for (int64_t k = 0; k < lanes; ++k) {
        const auto [primal, dual] = primal_and_dual(problem, run, k);
        CHECK_CLOSE(primal, dual, 1e-6 * primal);
      }
    }
  }
}

TEST(one_visit_moves_a_dual_to_its_maximiser) {
  const ToyProblem problem({});
  DualRun run(problem);
  run.advance({1, kNever, kNever});
  int64_t moved = 0;
  for (int64_t i = 0; i < problem.view.n(); ++i) {
    if (run.duals[i] == 0.0) continue;
    ++moved;
    const double best = problem.s[0] / problem.squared_norms[i];  // w = 0: the slack is 1
    CHECK_CLOSE(run.duals[i], std::min(problem.cost(i, 0), best), 1e-15);
    CHECK_EQUAL(run.passes[0].gap, problem.cost(i, 0));
  }
  CHECK_EQUAL(moved, 1);
}

TEST(shrinking_leaves_rows_out_and_keeps_the_optimum) {
  for (bool free : {false, true}) {
    for (Loss loss : {Loss::hinge, Loss::squared_hinge}) {
      CONTEXT("free " << free << ", squared " << (loss == Loss::squared_hinge));
      ToyProblem problem({.lanes = 3, .bias = 0.0, .weighted = true, .absent = true});
      problem.view.loss = loss;
      DualRun plain(problem);
      DualRun shrunk(problem, true);
      if (free) plain.set_free();
      if (free) shrunk.set_free();
      plain.epochs(3000);
      int64_t fewest = problem.view.n();
      for (int time = 0; time < 1000; ++time) {
        shrunk.epochs(3);
        fewest = std::min(fewest, shrunk.cursors[0].active);
        shrunk.cursors[0].recall = 1;
      }
      CHECK(fewest < problem.view.n());
      for (std::size_t p = 0; p < plain.W.size(); ++p) CHECK_CLOSE(shrunk.W[p], plain.W[p], 1e-7);
      for (std::size_t k = 0; k < plain.b.size(); ++k) CHECK_CLOSE(shrunk.b[k], plain.b[k], 1e-6);
    }
  }
}

TEST(a_free_intercept_balances_the_duals) {
  const ToyProblem problem({.lanes = 3, .bias = 0.0, .weighted = true, .absent = true});
  DualRun run(problem, true);
  run.set_free();
  run.epochs(2000);
  for (int64_t k = 0; k < 3; ++k) {
    double balance = 0.0;
    for (int64_t i = 0; i < problem.view.n(); ++i) {
      balance += run.duals[i * 3 + k] * problem.view.side(i, k);
    }
    CHECK_CLOSE(balance, 0.0, 1e-9);
  }
}

TEST(threads_that_share_a_pass_find_the_same_optimum) {
  for (int64_t lanes : {1, 3}) {
    ToyProblem problem({.lanes = lanes, .bias = 0.0, .weighted = true, .absent = lanes > 1});
    DualRun alone(problem);
    alone.set_free();
    alone.epochs(2000);
    problem.view.threads = 2;
    DualRun together(problem, true);
    together.set_free();
    together.advance({1, kNever, kNever});
    CHECK_EQUAL(together.cursors[0].parts, 2);
    CHECK_EQUAL(together.cursors[0].place, 1);
    for (int time = 0; time < 40; ++time) {
      together.epochs(50);
      together.cursors[0].recall = 1;
      together.cursors[0].rounds = DualRun::kRounds;
    }
    for (std::size_t p = 0; p < alone.W.size(); ++p) {
      CHECK_CLOSE(together.W[p], alone.W[p], 1e-6);
    }
  }
}

TEST(groups_of_lanes_are_runs_of_their_own) {
  ToyProblem problem({.lanes = 9, .weighted = true, .absent = true});
  DualRun one(problem, true, 3);
  one.epochs(20);
  problem.view.threads = 2;
  DualRun two(problem, true, 3);
  two.epochs(20);
  CHECK(bytes_of(one.W, one.duals, one.rows) == bytes_of(two.W, two.duals, two.rows));
}

TEST(rows_without_features_go_to_their_cost) {
  const ToyProblem problem({.lanes = 3, .bias = 0.0, .weighted = true, .absent = true});
  DualRun run(problem);
  run.epochs(1);
  for (int64_t i = 4; i < problem.view.n(); i += 5) {
    CHECK_EQUAL(problem.squared_norms[i], 0.0);
    for (int64_t k = 0; k < 3; ++k) {
      CHECK_EQUAL(run.duals[i * 3 + k], problem.view.side(i, k) == 0 ? 0.0 : problem.cost(i, k));
    }
  }
}

TEST(no_weights_are_weights_of_one) {
  for (int64_t lanes : {1, 3}) {
    const ToyProblem problem({.lanes = lanes, .absent = true});
    ToyProblem given({.lanes = lanes, .absent = true});
    given.weight = {1.0};
    given.view.weight = given.weight.data();  // one number for all rows and lanes: strides 0
    DualRun run(problem);
    DualRun weighted(given);
    run.epochs(5);
    weighted.epochs(5);
    CHECK(run.bytes() == weighted.bytes());
    given.weight[0] = 0.5;
    weighted.epochs(5);
    run.epochs(5);
    CHECK(run.bytes() != weighted.bytes());
  }
}

TEST(pausing_dual_ascent_changes_no_bit) {
  for (int64_t lanes : {1, 3}) {
    for (bool shrink : {false, true}) {
      CONTEXT("lanes " << lanes << ", shrink " << shrink);
      const ToyProblem problem({.lanes = lanes, .weighted = true, .absent = lanes > 1});
      check_pausing(DualRun(problem, shrink), 130);
      DualRun free(problem, shrink);
      free.set_free();
      check_pausing(free, 130);
      if (lanes > 1) continue;
      free.set_second_order();
      free.epochs(9);
      const int64_t begun = free.cursors[0].seen;
      check_pausing(free, begun + 200, begun);
    }
  }
}

TEST(pausing_threads_that_share_a_pass_changes_no_bit) {
  ToyProblem problem({.weighted = true});
  problem.view.threads = 2;
  DualRun whole(problem, true);
  whole.set_free();
  DualRun sliced = whole;
  CHECK(whole.advance({kNever, 400, kNever}));
  while (!sliced.advance({1, 400, kNever})) {
  }
  CHECK(sliced.bytes() == whole.bytes());
}

TEST(dual_ascent_stops_at_a_number_of_steps) {
  const ToyProblem problem({});
  DualRun run(problem);
  CHECK(run.advance({kNever, kNever, 25}));
  CHECK_EQUAL(run.cursors[0].steps, 25);
  CHECK_EQUAL(run.cursors[0].seen, 25);
  CHECK(!run.advance({0, kNever, 26}));
}
