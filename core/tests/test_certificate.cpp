#include <algorithm>

#include "harness.hpp"
#include "pegasos/certificate.hpp"
#include "toy.hpp"

namespace {

using namespace toy;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const ProblemOptions kThreeLanes = {.lanes = 3, .weighted = true, .absent = true};

// Random weights, intercepts and duals, and what a pass adds to.
struct Pass {
  explicit Pass(const ToyProblem& toy)
      : problem(&toy),
        W(toy.weights_size()),
        b(static_cast<std::size_t>(toy.view.lanes)),
        duals(toy.pairs()),
        products(toy.pairs(), kNan),
        positive(W.size()),
        negative(W.size()),
        sums(b.size(), GapSums{}) {
    Random random(31);
    for (double& value : W) value = random.real(-1.0, 1.0);
    for (double& value : b) value = random.real(-1.0, 1.0);
    for (double& value : duals) value = random.below(3) == 0 ? 0.0 : random.real(0.0, 1.0);
  }
  // The arrays of rows lo .. hi-1 only: nothing else may be touched.
  void add(int64_t lo, int64_t hi, bool split) {
    const int64_t lanes = problem->view.lanes;
    const std::vector<double> slice(duals.begin() + lo * lanes, duals.begin() + hi * lanes);
    std::vector<double> out(slice.size());
    add_gap_sums(problem->view, {.lo = lo,
                                 .hi = hi,
                                 .W = W.data(),
                                 .b = b.data(),
                                 .duals = slice.data(),
                                 .sums = sums.data(),
                                 .U_positive = positive.data(),
                                 .U_negative = split ? negative.data() : nullptr,
                                 .products = out.data()});
    std::copy(out.begin(), out.end(), products.begin() + lo * lanes);
  }

  const ToyProblem* problem;
  std::vector<double> W, b, duals, products, positive, negative;
  std::vector<GapSums> sums;
};

void check_close(const GapSums& a, const GapSums& b) {
  CHECK_CLOSE(a.loss, b.loss, 1e-12 * (1.0 + b.loss));
  CHECK_CLOSE(a.dual_positive, b.dual_positive, 1e-12 * (1.0 + b.dual_positive));
  CHECK_CLOSE(a.dual_negative, b.dual_negative, 1e-12 * (1.0 + b.dual_negative));
  CHECK_CLOSE(a.square_positive, b.square_positive, 1e-12 * (1.0 + b.square_positive));
  CHECK_CLOSE(a.square_negative, b.square_negative, 1e-12 * (1.0 + b.square_negative));
  CHECK_CLOSE(a.slope, b.slope, 1e-12 * (1.0 + b.slope));
  CHECK_CLOSE(a.slope_norm, b.slope_norm, 1e-12 * (1.0 + b.slope_norm));
  CHECK_CLOSE(a.cost_norm, b.cost_norm, 1e-12 * (1.0 + b.cost_norm));
  CHECK_CLOSE(a.dual_norm, b.dual_norm, 1e-12 * (1.0 + b.dual_norm));
  CHECK_EQUAL(a.support, b.support);
  CHECK_CLOSE(a.level_positive, b.level_positive, 1e-12 * (1.0 + b.level_size));
  CHECK_CLOSE(a.level_negative, b.level_negative, 1e-12 * (1.0 + b.level_size));
  CHECK_CLOSE(a.level_size, b.level_size, 1e-12 * (1.0 + b.level_size));
  CHECK_CLOSE(a.level_slope, b.level_slope, 1e-12 * (1.0 + b.level_slope));
}

}  // namespace

TEST(gap_sums_are_the_naive_sums) {
  for (Loss loss : {Loss::hinge, Loss::squared_hinge}) {
    for (int64_t lanes : {1, 3, 9}) {
      for (bool weighted : {false, true}) {
        const bool squared = loss == Loss::squared_hinge;
        CONTEXT("squared " << squared << ", lanes " << lanes << ", weighted " << weighted);
        ToyProblem problem(
            {.lanes = lanes, .weighted = weighted, .absent = true, .shifted = !weighted});
        problem.view.loss = loss;
        Pass pass(problem);
        pass.add(0, problem.view.n(), false);
        for (int64_t k = 0; k < lanes; ++k) {
          GapSums want{};
          for (int64_t i = 0; i < problem.view.n(); ++i) {
            const int y = problem.view.side(i, k);
            if (y == 0) continue;
            const double cost = problem.cost(i, k);
            const double norm = std::sqrt(problem.squared_norms[i]);
            const double decision = problem.data.dot(i, pass.W, problem.stride(), k) + pass.b[k];
            const double offset = weighted ? 1.0 : problem.targets[i * lanes + k];
            const double slack = std::max(0.0, offset - y * decision);
            const bool near = offset - y * decision > -kNear;
            const double slope = squared ? 2 * cost * slack : near ? cost : 0.0;
            const double dual = pass.duals[i * lanes + k];
            const double square = squared ? dual * dual / (4 * cost) : 0.0;
            want.loss += squared ? cost * slack * slack : cost * slack;
            (y > 0 ? want.dual_positive : want.dual_negative) += dual;
            (y > 0 ? want.square_positive : want.square_negative) += square;
            want.slope += slope;
            want.slope_norm += slope * norm;
            want.cost_norm += cost * norm;
            want.dual_norm += dual * norm;
            want.support += dual > 0.0;
            (y > 0 ? want.level_positive : want.level_negative) += (offset - 1.0) * dual;
            want.level_size += std::abs(offset - 1.0) * dual;
            want.level_slope += slope * std::max(0.0, offset - 1.0);
          }
          check_close(pass.sums[k], want);
        }
      }
    }
  }
}

TEST(sums_over_parts_add_up_to_the_whole) {
  const ToyProblem problem(kThreeLanes);
  Pass whole(problem);
  Pass parts(problem);
  whole.add(0, 40, false);
  for (auto [lo, hi] : {std::pair{7, 30}, {0, 7}, {7, 7}, {30, 31}, {31, 40}}) {
    parts.add(lo, hi, false);
  }
  for (int64_t k = 0; k < 3; ++k) check_close(parts.sums[k], whole.sums[k]);
  for (std::size_t p = 0; p < whole.positive.size(); ++p) {
    CHECK_CLOSE(parts.positive[p], whole.positive[p], 1e-12);
  }
  CHECK(parts.products == whole.products);
}

TEST(u_by_sign_is_the_signed_sum) {
  for (int64_t lanes : {1, 3}) {
    const ToyProblem problem({.lanes = lanes, .weighted = true, .absent = true});
    Pass whole(problem);
    Pass split(problem);
    whole.add(0, 40, false);
    split.add(0, 40, true);
    std::vector<double> positive(whole.positive.size());
    std::vector<double> negative(whole.positive.size());
    for (int64_t i = 0; i < 40; ++i) {
      for (int64_t k = 0; k < lanes; ++k) {
        const int y = problem.view.side(i, k);
        if (y == 0) continue;
        problem.data.axpy(i, whole.duals[i * lanes + k], y > 0 ? positive : negative,
                          problem.stride(), k);
      }
    }
    for (std::size_t p = 0; p < positive.size(); ++p) {
      CHECK_CLOSE(split.positive[p], positive[p], 1e-12);
      CHECK_CLOSE(split.negative[p], negative[p], 1e-12);
      CHECK_CLOSE(whole.positive[p], positive[p] - negative[p], 1e-12);
    }
    for (int64_t k = 0; k < lanes; ++k) check_close(split.sums[k], whole.sums[k]);
  }
}

TEST(products_are_written_without_the_intercept) {
  const ToyProblem problem(kThreeLanes);
  Pass pass(problem);
  pass.add(0, 40, true);
  for (int64_t i = 0; i < 40; ++i) {
    const auto* labels = problem.labels.data() + i * 3;
    const bool member = labels[0] != 0 || labels[1] != 0 || labels[2] != 0;
    for (int64_t k = 0; k < 3; ++k) {
      const double product = problem.data.dot(i, pass.W, 4, k);
      CHECK_CLOSE(pass.products[i * 3 + k], member ? product : 0.0, 1e-13);
    }
  }
}

TEST(a_nan_in_w_shows_in_its_lanes_loss) {
  const ToyProblem problem(kThreeLanes);
  for (double bad : {kNan, std::numeric_limits<double>::infinity()}) {
    Pass pass(problem);
    pass.W[5 * 4 + 1] = bad;
    pass.add(0, 40, true);
    CHECK(std::isfinite(pass.sums[0].loss));
    CHECK(!std::isfinite(pass.sums[1].loss));
    CHECK(std::isfinite(pass.sums[2].loss));
  }
  for (int64_t row = 0; row < 40; ++row) {  // also where it meets a single row
    if (problem.view.side(row, 2) == 0) continue;
    Pass pass(problem);
    std::fill(pass.W.begin(), pass.W.end(), kNan);
    pass.add(row, row + 1, false);
    CHECK(std::isnan(pass.sums[2].loss));
  }
}

TEST(a_nan_intercept_or_dual_shows) {
  const ToyProblem problem(kThreeLanes);
  Pass pass(problem);
  pass.b[0] = kNan;
  std::fill(pass.duals.begin(), pass.duals.end(), kNan);
  pass.add(0, 40, false);
  CHECK(std::isnan(pass.sums[0].loss));
  CHECK(std::isnan(pass.sums[1].dual_positive) && std::isnan(pass.sums[1].dual_negative));
}

TEST(small_terms_are_not_lost_beside_a_large_one) {
  ToyProblem problem({.weighted = true});
  std::fill(problem.weight.begin(), problem.weight.end(), 1.0);
  std::fill(problem.positive.begin(), problem.positive.end(), 1.0);
  std::fill(problem.negative.begin(), problem.negative.end(), 1.0);
  problem.weight[0] = 0x1p54;
  Pass pass(problem);
  std::fill(pass.W.begin(), pass.W.end(), 0.0);
  std::fill(pass.b.begin(), pass.b.end(), 0.0);
  pass.add(0, 37, false);  // 36 ones, each below half a unit of the large term
  CHECK_EQUAL(pass.sums[0].slope, 0x1p54 + 36.0);
  CHECK_EQUAL(pass.sums[0].loss, 0x1p54 + 36.0);
}

TEST(gap_sums_do_not_depend_on_the_threads_but_for_rounding) {
  for (int64_t lanes : {1, 3, 9, 17}) {
    for (bool split : {false, true}) {
      CONTEXT("lanes " << lanes << ", split " << split);
      ToyProblem problem({.n = 400, .lanes = lanes, .weighted = true, .absent = true});
      Pass one(problem);
      one.add(0, problem.view.n(), split);
      problem.view.threads = 4;
      Pass four(problem);
      four.add(0, problem.view.n(), split);
      if (lanes < 16) CHECK_EQUAL(four.sums[0].blocks, 4.0);
      for (int64_t k = 0; k < lanes; ++k) check_close(four.sums[k], one.sums[k]);
      for (std::size_t j = 0; j < one.positive.size(); ++j) {
        CHECK_CLOSE(four.positive[j], one.positive[j], 1e-12);
        CHECK_CLOSE(four.negative[j], one.negative[j], 1e-12);
      }
    }
  }
}

TEST(threads_share_no_pass_that_buffers_of_theirs_would_outgrow) {
  for (const auto& [rows, parts] : {std::pair{40, 1.0}, {400, 4.0}}) {
    ToyProblem problem({.n = rows});
    problem.view.threads = 4;
    Pass pass(problem);
    pass.add(0, problem.view.n(), true);
    CHECK_EQUAL(pass.sums[0].blocks, parts);
  }
}
