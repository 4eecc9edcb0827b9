#include <algorithm>

#include "pegasos/solver/sgd.hpp"
#include "runs.hpp"

namespace {

using namespace toy;

int64_t naive_burst(int64_t presentations, double g, double theta, double r, double lam) {
  int64_t updates = 0;
  for (; presentations > 0; --presentations) {
    if (g <= theta) {
      ++updates;
      g += r;
    }
    theta += lam;
  }
  return updates;
}

void check_burst(int64_t presentations, double g, double theta, double r, double lam) {
  CONTEXT("presentations " << presentations << ", g " << g << ", theta " << theta << ", r " << r
                           << ", lam " << lam);
  CHECK_EQUAL(burst_updates(presentations, g, theta, r, lam),
              naive_burst(presentations, g, theta, r, lam));
}

struct SgdRun {
  SgdRun(const ToyProblem& toy, Sampling sampling, int64_t burst)
      : problem(&toy),
        multiplicity(burst),
        order(sampling, 17, toy.view.n(), kChunkBits),
        U(toy.weights_size()),
        error_cost(static_cast<std::size_t>(toy.view.lanes)),
        loss(static_cast<std::size_t>(toy.view.lanes)),
        t(static_cast<std::size_t>(toy.view.lanes)),
        errors(toy.pairs()),
        draws(sampling == Sampling::iid ? static_cast<std::size_t>(toy.view.n()) : 0) {}

  bool advance(const Budget& budget) {
    SgdState state{U.data(),          t.data(),
                   errors.data(),     draws.empty() ? nullptr : draws.data(),
                   error_cost.data(), loss.data()};
    Sampler sampler = order.sampler();
    return pegasos::advance(problem->view, sampler, multiplicity, state, budget);
  }
  std::string bytes() const {
    return bytes_of(U, error_cost, loss, t, errors, draws, order.cursor, order.chunks);
  }

  const ToyProblem* problem;
  int64_t multiplicity;
  Order order;
  std::vector<double> U, error_cost, loss;
  std::vector<int64_t> t;
  std::vector<std::uint32_t> errors, draws;
};

// The paper's loop, one presentation at a time.
void present(const ToyProblem& problem, int64_t row, SgdRun& run) {
  const int64_t lanes = problem.view.lanes;
  for (int64_t k = 0; k < lanes; ++k) {
    const int y = problem.view.side(row, k);
    if (y == 0) continue;
    const double cost = problem.cost(row, k);
    for (int64_t m = 0; m < run.multiplicity; ++m) {
      const double theta = problem.lam[k] * static_cast<double>(run.t[k]++);
      const double g = y * problem.data.dot(row, run.U, problem.stride(), k);
      if (m == 0) run.loss[k] += cost * (theta == 0.0 ? 1.0 : std::max(0.0, 1.0 - g / theta));
      if (g > theta) continue;
      problem.data.axpy(row, cost * y, run.U, problem.stride(), k);
      ++run.errors[row * lanes + k];
    }
  }
}

}  // namespace

TEST(a_burst_makes_the_updates_of_its_presentations_one_by_one) {
  const double tick = 1.0 / 64.0;  // all numbers are multiples of it: no rounding anywhere
  for (double lam : {tick, 0.125, 1.0, 3.0}) {
    for (double r : {0.0, lam - tick, lam, lam + tick, 2.0 * lam, 2.5 * lam, 10.0 * lam, 1000.0}) {
      for (double slack : {0.0, tick, lam - tick, lam, r - tick, r, r + tick, 7.0 * lam, 7.0 * r,
                           49.0 * (r - lam), 49.0 * lam, 49.0 * lam + tick, 1e6, 0x1p40}) {
        for (int64_t m = 1; m <= 50; ++m) {
          check_burst(m, 5.0, 5.0 + slack, r, lam);
          check_burst(m, 5.0, 5.0 - slack, r, lam);
        }
      }
    }
  }
}

TEST(random_bursts_make_the_updates_of_their_presentations) {
  Random random(1);
  for (int trial = 0; trial < 100000; ++trial) {
    const double lam = static_cast<double>(1 + random.below(200)) / 64.0;
    const double r = static_cast<double>(random.below(trial % 2 == 0 ? 200 : 4000)) / 64.0;
    const double theta = static_cast<double>(random.below(10000)) / 64.0;
    const double g = static_cast<double>(random.below(20000) - 5000) / 64.0;
    check_burst(1 + random.below(50), g, theta, r, lam);
  }
}

TEST(a_burst_of_any_length_costs_the_same) {
  const int64_t m = 1'000'000'000'000;
  CHECK_EQUAL(burst_updates(m, 5.0, 0.0, 0.0, 1.0), m - 5);
  CHECK_EQUAL(burst_updates(m, 5.0, 0.0, 1.0, 1.0), m - 5);
  CHECK_EQUAL(burst_updates(m, 0.0, 0.0, 2.0, 1.0), m / 2);
  CHECK_EQUAL(burst_updates(m, 2e12, 0.0, 2.0, 1.0), 0);
  CHECK_EQUAL(burst_updates(m, -1e13, 0.0, 2.0, 1.0), m);
}

TEST(a_nan_product_makes_no_update) {
  for (int64_t m : {1, 5}) {
    for (double r : {0.5, 2.0}) CHECK_EQUAL(burst_updates(m, std::nan(""), 1.0, r, 1.0), 0);
  }
}

TEST(sgd_is_the_papers_loop) {
  for (int64_t lanes : {1, 3}) {
    for (int64_t multiplicity : {1, 2, 7}) {
      for (Value value : {Value::i8, Value::u8}) {
        CONTEXT("lanes " << lanes << ", multiplicity " << multiplicity);
        ToyProblem problem(
            {.lanes = lanes, .layout = {.value = value}, .weighted = true, .absent = true});
        // Whole numbers and quarters: the two loops agree to the last bit.
        for (int64_t k = 0; k < lanes; ++k) problem.lam[k] = 64.0 * static_cast<double>(1 + 9 * k);
        SgdRun run(problem, Sampling::permute, multiplicity);
        SgdRun naive = run;
        for (int epoch = 0; epoch < 6; ++epoch) {
          const int64_t n = problem.view.n();
          CHECK(run.advance({kNever, (epoch + 1) * n, kNever}));
          std::fill(naive.loss.begin(), naive.loss.end(), 0.0);
          for (int64_t row : naive.order.take(n)) present(problem, row, naive);
          CHECK(run.U == naive.U);
          CHECK(run.errors == naive.errors);
          CHECK(run.t == naive.t);
          for (int64_t k = 0; k < lanes; ++k) {
            CHECK_CLOSE(run.loss[k], naive.loss[k], 1e-12 * (1.0 + naive.loss[k]));
          }
          CHECK_EQUAL(run.order.cursor[0].steps, (epoch + 1) * n);
        }
      }
    }
  }
}

TEST(pausing_sgd_changes_no_bit) {
  for (int64_t lanes : {1, 3}) {
    const ToyProblem problem({.lanes = lanes, .weighted = true, .absent = lanes > 1});
    for (Sampling sampling : {Sampling::iid, Sampling::permute, Sampling::cycle}) {
      for (int64_t multiplicity : {1, 5}) {
        CONTEXT("lanes " << lanes << ", sampling " << static_cast<int>(sampling));
        check_pausing(SgdRun(problem, sampling, multiplicity), 130);
      }
    }
  }
}

TEST(sgd_stops_at_a_number_of_steps) {
  const ToyProblem problem({});
  SgdRun run(problem, Sampling::permute, 1);
  CHECK(run.advance({kNever, kNever, 25}));
  CHECK_EQUAL(run.order.cursor[0].steps, 25);
  CHECK(run.advance({1, kNever, 25}));
  CHECK(!run.advance({0, kNever, 26}));
  CHECK_EQUAL(run.order.cursor[0].seen, 25);
}

TEST(sgd_counts_the_draws_of_each_row) {
  const ToyProblem problem({.absent = true});
  SgdRun run(problem, Sampling::iid, 1);
  run.advance({kNever, 500, kNever});
  std::vector<std::uint32_t> want(run.draws.size());
  for (int64_t row : Order(Sampling::iid, 17, problem.view.n(), kChunkBits).take(500)) ++want[row];
  CHECK(run.draws == want);
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(run.errors[i] <= want[i]);
}
