#include <algorithm>

#include "pegasos/solver/dual.hpp"
#include "runs.hpp"

namespace {

using namespace toy;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct DualRun {
  explicit DualRun(const ToyProblem& toy, bool shrinks = false, int64_t group_count = 1)
      : problem(&toy),
        shrink(shrinks),
        groups(group_count),
        W(toy.weights_size()),
        duals(toy.pairs()),
        passes(static_cast<std::size_t>(toy.view.lanes)),
        cursors(static_cast<std::size_t>(groups)),
        orders(static_cast<std::size_t>(groups * toy.view.threads)),
        rows(static_cast<std::size_t>(groups * toy.view.n())),
        chunks(rows.size()),
        leaving(rows.size()) {
    for (LanePass& pass : passes) pass.last_gap = pass.last_up = pass.last_down = kInfinity;
    for (GroupCursor& cursor : cursors) {
      cursor.recall = 1;
      cursor.rounds = kRounds;
    }
  }
  void set_free() {
    const auto stride = static_cast<std::size_t>(problem->stride());
    b.assign(stride, 0.0);
    centre.assign(stride, 0.0);
    pull.assign(stride, 0.05);
  }

  void set_second_order() {
    const int64_t size = problem->view.n() + problem->view.rows.weight_rows();
    slots.assign(static_cast<std::size_t>(kSpanSlots * size), 0.0);
    slot_sums.assign(static_cast<std::size_t>(2 * kSpanSlots), 0.0);
    cursors[0].known = -1;
    passes[0].reach = 1.0;
  }

  bool advance(const Budget& budget) {
    DualState state{duals.data(), nullptr, nullptr, nullptr, passes.data()};
    if (!b.empty()) {
      state.b = b.data();
      state.centre = centre.data();
      state.pull = pull.data();
    }
    const ProblemView& view = problem->view;
    std::vector<DualGroup> all;
    for (int64_t g = 0; g < groups; ++g) {
      const LaneRange lanes =
          groups > 1 ? lane_range(view.lanes, groups, g) : LaneRange{0, view.lanes};
      all.push_back({.lanes = lanes,
                     .W = W.data() + lanes.first,
                     .stride = view.stride(),
                     .cursor = cursors.data() + g,
                     .orders = orders.data() + g * view.threads,
                     .rows = rows.data() + g * view.n(),
                     .chunks = chunks.data() + g * view.n(),
                     .leaving = leaving.data() + g * view.n(),
                     .slots = slots.empty() ? nullptr : slots.data(),
                     .slot_sums = slot_sums.empty() ? nullptr : slot_sums.data(),
                     .knot = slots.empty() ? nullptr : &knot});
    }
    const DualOptions options{23, 2, 1e9, false, view.threads, shrink};
    return pegasos::advance(view, options, state, all.data(), groups, budget);
  }
  void epochs(int64_t count) {
    advance({kNever, cursors[0].seen + count * problem->view.n(), kNever});
  }
  std::string bytes() const {
    return bytes_of(W, duals, b, centre, passes, cursors, orders, rows, chunks, leaving, slots,
                    slot_sums, std::vector<Knot>{knot});
  }

  static constexpr int64_t kRounds = 3;
  const ToyProblem* problem;
  bool shrink;
  int64_t groups;
  std::vector<double> W, duals, b, centre, pull;
  std::vector<LanePass> passes;
  std::vector<GroupCursor> cursors;
  std::vector<ThreadOrder> orders;
  std::vector<std::uint32_t> rows, chunks;
  std::vector<std::uint8_t> leaving;
  std::vector<double> slots, slot_sums;
  Knot knot{};
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
  DualRun run(problem);
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
    DualRun run(problem);
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
  DualRun run(problem);
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

// The largest distance of w from w(a).
double apart(const ToyProblem& problem, const DualRun& run) {
  DualRun fresh(problem);
  for (int64_t i = 0; i < problem.view.n(); ++i) {
    const double factor = run.duals[i] * problem.view.label(i, 0) / problem.s[0];
    problem.view.rows.axpy(i, &factor, fresh.W.data(), 1);
  }
  double most = 0.0;
  for (std::size_t p = 0; p < run.W.size(); ++p) {
    most = std::max(most, std::abs(run.W[p] - fresh.W[p]));
  }
  return most;
}

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
    for (int time = 0; time < 50; ++time) untie(problem.view, knot, at);
    CHECK(apart(problem, run) < 1e-12);
    for (int64_t i = 0; i < 20; ++i) {
      const int64_t row = 3 * i;
      double product = 0.0;
      problem.view.rows.dot(row, run.W.data(), 1, &product);
      const int y = problem.view.label(row, 0);
      const double c = problem.cost(row, 0);
      double gradient = 1.0 - y * (product + run.b[0]);
      if (loss == Loss::squared_hinge) gradient -= run.duals[row] / (2.0 * c);
      if (problem.squared_norms[row] == 0.0) continue;
      if (run.duals[row] > 0.0) CHECK(gradient > -1e-6);
      if (loss == Loss::squared_hinge || run.duals[row] < c) CHECK(gradient < 1e-6);
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
      balance += run.duals[i * 3 + k] * problem.view.label(i, k);
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
