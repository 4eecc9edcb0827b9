#include <algorithm>

#include "pegasos/solver/dual.hpp"
#include "runs.hpp"

namespace {

using namespace toy;

struct DualRun {
  DualRun(const ToyProblem& toy, Sampling sampling)
      : problem(&toy),
        order(sampling, 23, toy.view.n(), kChunkBits),
        W(toy.weights_size()),
        duals(toy.pairs()),
        loss(static_cast<std::size_t>(toy.view.lanes)) {}

  bool advance(const Budget& budget) {
    DualState state{W.data(), duals.data(), loss.data()};
    Sampler sampler = order.sampler();
    return pegasos::advance(problem->view, sampler, state, budget);
  }
  void epochs(int64_t count) {
    advance({kNever, order.cursor[0].seen + count * problem->view.n(), kNever});
  }
  std::string bytes() const { return bytes_of(W, duals, loss, order.cursor, order.chunks); }

  const ToyProblem* problem;
  Order order;
  std::vector<double> W, duals, loss;
};

// s/2 |w|^2 + sum c max(0, 1 - y w.x) and sum a - s/2 |w|^2
std::pair<double, double> primal_and_dual(const ToyProblem& problem, const DualRun& run,
                                          int64_t k) {
  const int64_t stride = problem.stride();
  double norm = 0.0;
  for (int64_t j = 0; j <= problem.view.rows.d(); ++j) {
    norm += run.W[j * stride + k] * run.W[j * stride + k];
  }
  double primal = problem.s[k] / 2.0 * norm;
  double dual = -primal;
  for (int64_t i = 0; i < problem.view.n(); ++i) {
    const int y = problem.view.label(i, k);
    if (y == 0) continue;
    primal += problem.cost(i, k) * std::max(0.0, 1.0 - y * problem.data.dot(i, run.W, stride, k));
    dual += run.duals[i * problem.view.lanes + k];
  }
  return {primal, dual};
}

}  // namespace

TEST(duals_stay_in_their_box) {
  const ToyProblem problem({.lanes = 3, .weighted = true, .absent = true});
  DualRun run(problem, Sampling::permute);
  for (int epoch = 0; epoch < 30; ++epoch) {
    run.epochs(1);
    for (int64_t i = 0; i < problem.view.n(); ++i) {
      for (int64_t k = 0; k < 3; ++k) {
        const double dual = run.duals[i * 3 + k];
        if (problem.view.label(i, k) == 0) CHECK_EQUAL(dual, 0.0);
        CHECK(0.0 <= dual && dual <= problem.cost(i, k));
      }
    }
  }
}

TEST(w_is_the_sum_of_the_duals_rows) {
  for (int64_t lanes : {1, 3, 9}) {
    const ToyProblem problem({.lanes = lanes, .weighted = true, .absent = true});
    DualRun run(problem, Sampling::permute);
    run.epochs(50);
    std::vector<double> want(run.W.size());
    for (int64_t i = 0; i < problem.view.n(); ++i) {
      for (int64_t k = 0; k < lanes; ++k) {
        const double dual = run.duals[i * lanes + k];
        problem.data.axpy(i, dual * problem.view.label(i, k) / problem.s[k], want, problem.stride(),
                          k);
      }
    }
    for (std::size_t p = 0; p < want.size(); ++p) CHECK_CLOSE(run.W[p], want[p], 1e-12);
  }
}

TEST(dual_ascent_ascends_and_closes_the_gap) {
  const ToyProblem problem({.lanes = 3, .weighted = true, .absent = true});
  DualRun run(problem, Sampling::permute);
  std::vector<double> best(3, 0.0);
  for (int epoch = 0; epoch < 200; ++epoch) {
    run.epochs(1);
    for (int64_t k = 0; k < 3; ++k) {
      const double dual = primal_and_dual(problem, run, k).second;
      CHECK(dual >= best[k] - 1e-12);
      best[k] = dual;
    }
  }
  for (int64_t k = 0; k < 3; ++k) {
    const auto [primal, dual] = primal_and_dual(problem, run, k);
    CHECK_CLOSE(primal, dual, 1e-6 * primal);
  }
}

TEST(one_visit_moves_a_dual_to_its_maximiser) {
  const ToyProblem problem({});
  DualRun run(problem, Sampling::cycle);
  run.advance({1, kNever, kNever});
  const double best = problem.s[0] / problem.squared_norms[0];  // w = 0: the slack is 1
  CHECK_CLOSE(run.duals[0], std::min(problem.cost(0, 0), best), 1e-15);
  CHECK_EQUAL(run.loss[0], problem.cost(0, 0));
}

TEST(the_loss_is_that_of_the_current_epoch) {
  const ToyProblem problem({});
  const int64_t n = problem.view.n();
  DualRun run(problem, Sampling::cycle);
  run.epochs(4);
  // Replayed row by row: the loss of each row is the one before its own move.
  DualRun replay(problem, Sampling::cycle);
  replay.epochs(3);
  double want = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const double margin = problem.view.label(i, 0) * problem.data.dot(i, replay.W, 1);
    want += problem.cost(i, 0) * std::max(0.0, 1.0 - margin);
    replay.advance({1, kNever, kNever});
  }
  CHECK_CLOSE(run.loss[0], want, 1e-12 * want);
}

TEST(rows_without_features_go_to_their_cost) {
  const ToyProblem problem({.lanes = 3, .bias = 0.0, .weighted = true, .absent = true});
  DualRun run(problem, Sampling::permute);
  run.epochs(1);
  for (int64_t i = 4; i < problem.view.n(); i += 5) {
    CHECK_EQUAL(problem.squared_norms[i], 0.0);
    for (int64_t k = 0; k < 3; ++k) {
      CHECK_EQUAL(run.duals[i * 3 + k], problem.view.label(i, k) == 0 ? 0.0 : problem.cost(i, k));
    }
  }
}

TEST(no_weights_are_weights_of_one) {
  for (int64_t lanes : {1, 3}) {
    const ToyProblem problem({.lanes = lanes, .absent = true});
    ToyProblem given({.lanes = lanes, .absent = true});
    given.weight = {1.0};
    given.view.weight = given.weight.data();  // one number for all rows and lanes: strides 0
    DualRun run(problem, Sampling::permute);
    DualRun weighted(given, Sampling::permute);
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
    const ToyProblem problem({.lanes = lanes, .weighted = true, .absent = lanes > 1});
    for (Sampling sampling : {Sampling::iid, Sampling::permute, Sampling::cycle}) {
      CONTEXT("lanes " << lanes << ", sampling " << static_cast<int>(sampling));
      check_pausing(DualRun(problem, sampling), 130);
    }
  }
}

TEST(dual_ascent_stops_at_a_number_of_steps) {
  const ToyProblem problem({});
  DualRun run(problem, Sampling::permute);
  CHECK(run.advance({kNever, kNever, 25}));
  CHECK_EQUAL(run.order.cursor[0].steps, 25);
  CHECK_EQUAL(run.order.cursor[0].seen, 25);
  CHECK(!run.advance({0, kNever, 26}));
}
