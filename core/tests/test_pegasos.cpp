#include <algorithm>

#include "pegasos/solver/pegasos.hpp"
#include "runs.hpp"

namespace {

using namespace toy;

struct PegasosRun {
  PegasosRun(const ToyProblem& toy, Sampling sampling, const PegasosOptions& how,
             bool average = false)
      : problem(&toy),
        options(how),
        order(sampling, 29, toy.view.n(), kChunkBits),
        v(toy.weights_size()),
        a(lanes(), 1.0),
        nu(lanes()),
        nu_peak(lanes()),
        a_total(average ? lanes() : 0),
        late(average ? v.size() : 0),
        t(lanes(), 1),
        batch_rows(lanes()),
        batch_violators(lanes()),
        errors(toy.pairs()),
        draws(sampling == Sampling::iid ? static_cast<std::size_t>(toy.view.n()) : 0),
        batch(static_cast<std::size_t>(how.batch_size)),
        violators(batch.size() * lanes()) {
    for (int64_t k = 0; k < toy.view.lanes; ++k) radius.push_back(toy.total_cost(k) / toy.s[k]);
  }

  bool advance(const Budget& budget) {
    PegasosState state{};
    state.w = {.rows = problem->view.rows.weight_rows(),
               .lanes = problem->view.lanes,
               .stride = problem->stride(),
               .v = v.data(),
               .a = a.data(),
               .nu = nu.data(),
               .nu_peak = nu_peak.data(),
               .updates = updates.data(),
               .refresh_every = 50,
               .a_total = a_total.empty() ? nullptr : a_total.data(),
               .late = late.empty() ? nullptr : late.data()};
    state.t = t.data();
    state.errors = errors.data();
    state.draws = draws.empty() ? nullptr : draws.data();
    state.batch = batch.data();
    state.violators = violators.data();
    state.batch_rows = batch_rows.data();
    state.batch_violators = batch_violators.data();
    state.cursor = cursor.data();
    state.radius_squared = radius.data();
    Sampler sampler = order.sampler();
    return pegasos::advance(problem->view, sampler, options, state, budget);
  }
  bool steps_to(int64_t steps) { return advance({kNever, kNever, steps}); }

  std::size_t lanes() const { return static_cast<std::size_t>(problem->view.lanes); }
  double w(int64_t row, int64_t k) const { return a[k] * v[row * problem->stride() + k]; }
  double squared_norm(int64_t k) const {
    double sum = 0.0;
    for (int64_t j = 0; j <= problem->view.rows.d(); ++j) sum += w(j, k) * w(j, k);
    return sum;
  }
  std::string bytes() const {
    return bytes_of(v, a, nu, nu_peak, updates, a_total, late, t, errors, draws, batch, violators,
                    batch_rows, batch_violators, cursor, order.cursor, order.chunks);
  }

  const ToyProblem* problem;
  PegasosOptions options;
  Order order;
  std::vector<double> v, a, nu, nu_peak, a_total, late, radius;
  std::vector<int64_t> updates{0}, t, batch_rows, batch_violators;
  std::vector<std::uint32_t> errors, draws, batch;
  std::vector<std::uint8_t> violators;
  std::vector<BatchCursor> cursor{BatchCursor{}};
};

// The paper's step on w itself.
struct Naive {
  explicit Naive(const ToyProblem& toy)
      : problem(&toy),
        w(toy.weights_size()),
        sum(toy.weights_size()),
        t(static_cast<std::size_t>(toy.view.lanes), 1),
        errors(toy.pairs()) {}

  void step(const std::vector<int64_t>& batch, const PegasosOptions& options) {
    for (int64_t k = 0; k < problem->view.lanes; ++k) step(batch, options, k);
  }

  const ToyProblem* problem;
  std::vector<double> w, sum;
  std::vector<int64_t> t;
  std::vector<std::uint32_t> errors;

 private:
  void step(const std::vector<int64_t>& batch, const PegasosOptions& options, int64_t k) {
    const int64_t stride = problem->stride();
    std::vector<int64_t> rows, violators;
    for (int64_t row : batch) {
      const int y = problem->view.side(row, k);
      if (y == 0) continue;
      rows.push_back(row);
      if (y * problem->data.dot(row, w, stride, k) >= 1.0) continue;
      violators.push_back(row);
      ++errors[row * problem->view.lanes + k];
    }
    if (rows.empty() || (options.count_on_loss && violators.empty())) return;
    const double time = static_cast<double>(t[k]++);
    const double eta = 1.0 / (problem->lam[k] * time * static_cast<double>(rows.size()));
    scale(k, 1.0 - 1.0 / time);
    for (int64_t row : violators) {
      const double factor = eta * problem->cost(row, k) * problem->view.side(row, k);
      problem->data.axpy(row, factor, w, stride, k);
    }
    double norm = 0.0;
    for (std::size_t p = k; p < w.size(); p += stride) norm += w[p] * w[p];
    const double bound = problem->total_cost(k) / problem->s[k];
    if (options.project && norm > bound) scale(k, std::sqrt(bound / norm));
    for (std::size_t p = k; p < w.size(); p += stride) sum[p] += w[p];
  }
  void scale(int64_t k, double factor) {
    for (std::size_t p = k; p < w.size(); p += problem->stride()) w[p] *= factor;
  }
};

void check_same(const PegasosRun& run, const Naive& naive) {
  const int64_t stride = run.problem->stride();
  CHECK(run.t == naive.t);
  CHECK(run.errors == naive.errors);
  for (int64_t j = 0; j <= run.problem->view.rows.d(); ++j) {
    for (int64_t k = 0; k < run.problem->view.lanes; ++k) {
      const int64_t p = j * stride + k;
      CHECK_CLOSE(run.w(j, k), naive.w[p], 1e-10 * (1.0 + std::abs(naive.w[p])));
      if (run.late.empty()) continue;
      const double total = run.a_total[k] * run.v[p] - run.late[p];
      CHECK_CLOSE(total, naive.sum[p], 1e-10 * static_cast<double>(run.t[k]));
    }
  }
}

}  // namespace

TEST(pegasos_is_the_papers_step) {
  for (int64_t d : {6, 60}) {  // few features: the norm is recomputed; many: followed
    for (int64_t lanes : {1, 3}) {
      const ToyProblem problem(
          {.d = d, .lanes = lanes, .weighted = true, .absent = lanes > 1, .seed = 3});
      for (int64_t batch_size : {1, 3, 40}) {
        for (bool project : {true, false}) {
          for (bool count_on_loss : {true, false}) {
            CONTEXT("d " << d << ", lanes " << lanes << ", batch " << batch_size << ", project "
                         << project << ", count_on_loss " << count_on_loss);
            const PegasosOptions options{batch_size, project, count_on_loss};
            PegasosRun run(problem, Sampling::iid, options, true);
            Naive naive(problem);
            Order order = run.order;
            for (int64_t step = 1; step <= 300; ++step) {
              CHECK(run.steps_to(step));
              naive.step(order.take(batch_size), options);
              if (step < 5 || step % 100 == 0) check_same(run, naive);
            }
          }
        }
      }
    }
  }
}

TEST(a_batch_ends_with_the_epoch) {
  const ToyProblem problem({.n = 40});
  for (Sampling sampling : {Sampling::permute, Sampling::cycle}) {
    const PegasosOptions options{.batch_size = 7};
    PegasosRun run(problem, sampling, options);
    Naive naive(problem);
    Order order = run.order;
    CHECK(run.advance({kNever, 3 * 40, kNever}));
    CHECK_EQUAL(run.order.cursor[0].steps, 3 * 6);  // five batches of 7, one of 5
    for (int step = 0; step < 3 * 6; ++step) naive.step(order.take(step % 6 < 5 ? 7 : 5), options);
    check_same(run, naive);
  }
  PegasosRun larger(problem, Sampling::permute, {.batch_size = 1000});
  CHECK(larger.advance({kNever, 3 * 40, kNever}));
  CHECK_EQUAL(larger.order.cursor[0].steps, 3);
}

TEST(pausing_pegasos_changes_no_bit) {
  for (int64_t d : {6, 60}) {
    for (int64_t lanes : {1, 3}) {
      const ToyProblem problem({.d = d, .lanes = lanes, .weighted = true, .absent = lanes > 1});
      for (Sampling sampling : {Sampling::iid, Sampling::permute, Sampling::cycle}) {
        for (int64_t batch_size : {1, 3, 40}) {
          CONTEXT("d " << d << ", lanes " << lanes << ", sampling " << static_cast<int>(sampling)
                       << ", batch " << batch_size);
          check_pausing(PegasosRun(problem, sampling, {batch_size, true, false}, true), 200);
          check_pausing(PegasosRun(problem, sampling, {batch_size, false, true}), 200);
        }
      }
    }
  }
}

TEST(pausing_inside_a_large_batch_changes_no_bit) {
  const int64_t size = 1100;  // more than are applied in one go
  const std::vector<std::pair<Sampling, ProblemOptions>> cases = {
      {Sampling::permute, {.n = size, .d = 6}},  // the norm is recomputed
      {Sampling::permute, {.n = size, .d = 6, .lanes = 3, .absent = true}},
      {Sampling::iid, {.n = 60, .d = 9000}},  // the norm is followed
      {Sampling::iid, {.n = 60, .d = 9000, .lanes = 3, .absent = true}}};
  for (const auto& [sampling, shape] : cases) {
    CONTEXT("lanes " << shape.lanes << ", d " << shape.d);
    const ToyProblem problem(shape);
    PegasosRun whole(problem, sampling, {.batch_size = size}, true);
    PegasosRun sliced = whole;
    CHECK(whole.advance({kNever, 3 * size, kNever}));
    int64_t inside = 0;
    while (!sliced.advance({1, 3 * size, kNever})) inside += sliced.cursor[0].applying;
    CHECK(inside > size);  // it did pause there
    CHECK(sliced.bytes() == whole.bytes());
    CHECK_EQUAL(sliced.order.cursor[0].steps, 3);
  }
}

TEST(project_keeps_w_in_the_ball) {
  const ToyProblem problem({.d = 60, .lanes = 3, .weighted = true, .absent = true});
  for (int64_t batch_size : {1, 3, 40}) {
    PegasosRun run(problem, Sampling::permute, {.batch_size = batch_size});
    PegasosRun free(problem, Sampling::permute, {.batch_size = batch_size, .project = false});
    bool left = false;
    for (int64_t step = 1; step <= 300; ++step) {
      run.steps_to(step);
      free.steps_to(step);
      for (int64_t k = 0; k < 3; ++k) {
        CHECK(run.squared_norm(k) <= run.radius[k] * (1.0 + 1e-12));
        CHECK_CLOSE(run.nu[k], run.squared_norm(k), 1e-10 * run.nu[k]);
        left = left || free.squared_norm(k) > free.radius[k];
      }
    }
    CHECK(left);  // without projection it is not kept in
  }
}

TEST(count_on_loss_leaves_w_and_t_alone_without_a_violator) {
  ToyProblem problem({.bias = 1.0});
  std::fill(problem.labels.begin(), problem.labels.end(), std::int8_t{1});
  for (bool count_on_loss : {true, false}) {
    PegasosRun run(problem, Sampling::permute, {3, false, count_on_loss});
    run.v.back() = 1000.0;  // the constant feature: every row is far on its side
    run.t[0] = 5;
    const std::vector<double> before = run.v;
    CHECK(run.steps_to(10));
    CHECK_EQUAL(run.t[0], count_on_loss ? 5 : 15);
    CHECK_EQUAL(run.a[0] == 1.0 && run.v == before, count_on_loss);
    CHECK(std::all_of(run.errors.begin(), run.errors.end(), [](auto e) { return e == 0; }));
  }
}

TEST(a_lane_with_no_row_in_the_batch_takes_no_step) {
  ToyProblem problem({.lanes = 3});
  for (int64_t i = 0; i < problem.view.n(); ++i) {
    if (i >= 10) problem.labels[i * 3 + 1] = 0;
  }
  PegasosRun run(problem, Sampling::cycle, {.batch_size = 4});
  CHECK(run.advance({kNever, 40, kNever}));
  CHECK_EQUAL(run.t[0], 11);
  CHECK_EQUAL(run.t[1], 4);  // rows 0..9 are in three batches
  CHECK_EQUAL(run.t[2], 11);
}

TEST(iid_counts_the_draws_of_each_row) {
  const ToyProblem problem({.lanes = 3, .absent = true});
  for (int64_t batch_size : {1, 3, 100}) {
    PegasosRun run(problem, Sampling::iid, {.batch_size = batch_size});
    run.advance({kNever, 600, kNever});
    CHECK_EQUAL(run.order.cursor[0].steps, 600 / batch_size);
    std::vector<std::uint32_t> want(run.draws.size());
    for (int64_t row : Order(run.order.mode, run.order.seed, 40, kChunkBits).take(600)) ++want[row];
    CHECK(run.draws == want);
    for (std::size_t p = 0; p < run.errors.size(); ++p) CHECK(run.errors[p] <= want[p / 3]);
  }
}
