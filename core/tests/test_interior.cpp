// The interior point method's passes: Newton's equations hold row by row.
#include <algorithm>
#include <cmath>

#include "harness.hpp"
#include "pegasos/solver/interior.hpp"
#include "toy.hpp"

using namespace pegasos;
using namespace toy;

namespace {

enum Array { kA, kV, kR, kXi, kG, kScale, kRa, kRv, kDa, kOtherRa, kOtherRv, kOtherDa, kArrays };

constexpr double kShare = 0.3;

struct Toy : ToyProblem {
  explicit Toy(Loss loss) : ToyProblem({.weighted = true, .absent = true, .shifted = true}) {
    view.loss = loss;
  }
};

// A point strictly inside, with a direction already in hand.
struct Point {
  explicit Point(const ToyProblem& toy) : n(static_cast<std::size_t>(toy.view.n())) {
    Random random(7);
    for (auto& array : arrays) array.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double cost = toy.cost(static_cast<int64_t>(i), 0);
      arrays[kA][i] = cost * random.real(0.1, 0.9);
      arrays[kV][i] = cost - arrays[kA][i];
      for (int p : {kR, kXi}) arrays[p][i] = random.real(0.2, 2.0);
      for (int p : {kRa, kRv, kDa}) arrays[p][i] = random.real(-0.1, 0.1);
      if (toy.view.loss == Loss::squared_hinge) {
        arrays[kV][i] = arrays[kA][i];
        arrays[kXi][i] = arrays[kA][i] / (2.0 * cost);
        arrays[kRv][i] = 0.0;
      }
    }
  }
  InteriorRows rows() {
    double* p[kArrays];
    for (int k = 0; k < kArrays; ++k) p[k] = arrays[k].data();
    return {p[kA],
            p[kV],
            p[kR],
            p[kXi],
            p[kG],
            p[kScale],
            {p[kRa], p[kRv], p[kDa]},
            {p[kOtherRa], p[kOtherRv], p[kOtherDa]},
            kShare};
  }
  std::size_t n;
  std::vector<double> arrays[kArrays];
};

std::vector<double> random_vector(int64_t size) {
  Random random(3);
  std::vector<double> out;
  for (int64_t j = 0; j < size; ++j) out.push_back(random.real(-0.5, 0.5));
  return out;
}

constexpr Loss kHinges[] = {Loss::hinge, Loss::squared_hinge};

}  // namespace

TEST(the_gram_matrix_is_that_of_rows_and_constant_in_every_storage) {
  for (Value value : {Value::f32, Value::f64, Value::i8, Value::u8}) {
    for (const Layout& layout : layouts_of(value)) {
      for (int64_t d : {3, 8, 31}) {
        CONTEXT(to_string(layout) << " d " << d);
        const ToyProblem toy({.n = 300, .d = d, .layout = layout, .absent = true});
        Point point(toy);
        const InteriorRows rows = point.rows();
        for (std::size_t i = 0; i < point.n; ++i)
          rows.scale[i] = 0.1 + 0.01 * static_cast<double>(i);
        rows.scale[3] = 1e-9;  // left out
        std::vector<double> gram(static_cast<std::size_t>((d + 1) * (d + 1)));
        interior_gram(toy.view, rows, {0, toy.view.n()}, 0.5, {1e-3, 1e-6}, gram.data());
        for (int64_t p = 0; p <= d; ++p) {
          for (int64_t q = p; q <= d; ++q) {
            double sum = 0.0;
            for (int64_t i = 0; i < toy.view.n(); ++i) {
              if (toy.view.side(i, 0) == 0 || i == 3) continue;
              sum += rows.scale[i] * (p < d ? toy.data.x(i, p) : 0.5) *
                     (q < d ? toy.data.x(i, q) : 0.5);
            }
            CHECK_CLOSE(gram[p * (d + 1) + q], sum, 1e-11 * std::max(1.0, std::abs(sum)));
          }
        }
      }
    }
  }
}

TEST(a_point_sums_up_the_slack_form) {
  for (Loss loss : kHinges) {
    CONTEXT("loss " << static_cast<int>(loss));
    const bool squared = loss == Loss::squared_hinge;
    const Toy toy(loss);
    Point point(toy);
    const Point before = point;
    const InteriorRows rows = point.rows();
    const std::vector<double> w = random_vector(toy.view.rows.weight_rows());
    const std::size_t size = w.size();
    std::vector<double> vectors(3 * size), u(size), affine(size), centre(size);
    const PointSums sums =
        interior_point(toy.view, rows, {0, toy.view.n()}, 0.5, w.data(), 0.3, vectors.data());
    PointSums expected;
    for (int64_t i = 0; i < toy.view.n(); ++i) {
      const int y = toy.view.side(i, 0);
      if (y == 0) continue;
      const double c = toy.cost(i, 0);
      const double margin = y * (toy.data.dot(i, w, 1) + 0.3);
      const double da = before.arrays[kDa][i];
      const double a = before.arrays[kA][i] + 0.5 * da;
      const double v = squared ? a : before.arrays[kV][i] - 0.5 * da;
      CHECK_CLOSE(rows.a[i], a, 1e-12);
      CHECK_CLOSE(rows.v[i], v, 1e-12);
      // Half the step that would meet the targets to first order.
      CHECK_CLOSE((rows.r[i] - before.arrays[kR][i]) * before.arrays[kA][i] +
                      0.5 * before.arrays[kR][i] * da,
                  0.5 * before.arrays[kRa][i], 1e-12);
      const double offset = toy.targets[i];
      CHECK_CLOSE(rows.g[i], margin - offset, 1e-12);
      const double D = 1 / (rows.r[i] / a + rows.xi[i] / v);
      CHECK_CLOSE(rows.scale[i], D, 1e-9);
      expected.complementarity += a * rows.r[i] + (squared ? 0.0 : v * rows.xi[i]);
      expected.loss += c * std::pow(std::max(0.0, offset - margin), squared ? 2 : 1);
      expected.dual += offset * a - (squared ? a * a / (4 * c) : 0.0);
      expected.balance += a * y;
      expected.scale += D;
      toy.data.axpy(i, a * y, u, 1);
      const double misses = margin - offset + rows.xi[i] - rows.r[i];
      const double towards_zero = -rows.r[i] + (squared ? 0.0 : rows.xi[i]) - misses;
      toy.data.axpy(i, y * D * towards_zero, affine, 1);
      toy.data.axpy(i, y * D * (kShare / a - (squared ? 0.0 : 1 / v)), centre, 1);
    }
    CHECK_CLOSE(sums.complementarity, expected.complementarity, 1e-10);
    CHECK_CLOSE(sums.loss, expected.loss, 1e-10);
    CHECK_CLOSE(sums.dual, expected.dual, 1e-10);
    CHECK_CLOSE(sums.balance, expected.balance, 1e-10);
    CHECK_CLOSE(sums.scale, expected.scale, 1e-8);
    for (std::size_t j = 0; j < size; ++j) {
      CHECK_CLOSE(vectors[j], u[j], 1e-10);
      CHECK_CLOSE(vectors[size + j], affine[j], 1e-9);
      CHECK_CLOSE(vectors[2 * size + j], centre[j], 1e-9);
    }
  }
}

TEST(a_direction_solves_the_equations_of_its_rows) {
  for (Loss loss : kHinges) {
    CONTEXT("loss " << static_cast<int>(loss));
    const bool squared = loss == Loss::squared_hinge;
    const Toy toy(loss);
    Point point(toy);
    const InteriorRows rows = point.rows();
    const Span all{0, toy.view.n()};
    const std::vector<double> w = random_vector(toy.view.rows.weight_rows());
    std::vector<double> vectors(3 * w.size()), second(w.size()), rhs(w.size());
    const double before =
        interior_point(toy.view, rows, all, 0.0, w.data(), 0.3, vectors.data()).complementarity;
    const AffineSums affine = interior_affine(toy.view, rows, all, w.data(), -0.1, second.data());
    const double mu = 0.2;
    // After the affine step the products are what the second-order terms say.
    double after = 0.0;
    std::vector<double> expected(w.size());
    for (int64_t i = 0; i < toy.view.n(); ++i) {
      const int y = toy.view.side(i, 0);
      if (y == 0) continue;
      const double da_dr = -rows.now.ra[i] - rows.a[i] * rows.r[i];
      const double da_dxi = squared ? 0.0 : rows.now.rv[i] + rows.v[i] * rows.xi[i];
      after += da_dr - da_dxi;  // (a + da)(r + dr) = da dr, as a r + a dr + r da = 0
      toy.data.axpy(i, -y * rows.scale[i] * (da_dr / rows.a[i] + da_dxi / rows.v[i]), expected, 1);
    }
    CHECK_CLOSE(before + affine.primal + affine.dual + affine.both, after, 1e-9);
    for (std::size_t j = 0; j < w.size(); ++j) CHECK_CLOSE(second[j], expected[j], 1e-9);

    const auto check = [&](const InteriorDirection& to, const StepLengths& step) {
      double smallest = 1.0;
      for (int64_t i = 0; i < toy.view.n(); ++i) {
        const int y = toy.view.side(i, 0);
        if (y == 0) continue;
        const double da = to.da[i];
        const double dr = (to.ra[i] - rows.r[i] * da) / rows.a[i];
        const double dxi = (to.rv[i] + rows.xi[i] * da) / rows.v[i];
        const double misses = rows.g[i] + rows.xi[i] - rows.r[i];
        CHECK_CLOSE(dr, y * (toy.data.dot(i, w, 1) - 0.1) + dxi + misses, 1e-8);
        if (squared) CHECK_CLOSE(dxi, da / (2 * toy.cost(i, 0)), 1e-9);
        smallest = std::min({smallest, rows.a[i] + step.dual * da, rows.r[i] + step.primal * dr});
        if (squared) continue;
        smallest = std::min({smallest, rows.v[i] - step.dual * da, rows.xi[i] + step.primal * dxi});
      }
      CHECK(smallest >= -1e-12);
      CHECK((step.primal == 1.0 && step.dual == 1.0) || smallest < 1e-12);  // as far as it goes
    };
    const Point targets = point;
    check(rows.now, interior_direction(toy.view, rows, all, rows.now, mu, w.data(), -0.1));
    interior_correct(toy.view, rows, all, mu, {0.9, 0.8}, rhs.data());
    std::vector<double> change(w.size());
    for (int64_t i = 0; i < toy.view.n(); ++i) {
      const int y = toy.view.side(i, 0);
      if (y == 0) continue;
      const double da = rows.now.da[i];
      const double dr = (rows.now.ra[i] - rows.r[i] * da) / rows.a[i];
      const double product = (rows.a[i] + 0.8 * da) * (rows.r[i] + 0.9 * dr);
      const double more = rows.other.ra[i] - rows.now.ra[i];
      const double aim = kShare * mu;
      CHECK_CLOSE(rows.now.ra[i], targets.arrays[kRa][i] + aim, 1e-12);
      CHECK(product >= 0.1 * aim && product <= 10 * aim ? std::abs(more) < 1e-12
                                                        : more * (aim - product) > 0);
      const double t = more / rows.a[i] - (rows.other.rv[i] - rows.now.rv[i]) / rows.v[i];
      toy.data.axpy(i, y * rows.scale[i] * t, change, 1);
    }
    for (std::size_t j = 0; j < w.size(); ++j) CHECK_CLOSE(rhs[j], change[j], 1e-9);
    check(rows.other, interior_direction(toy.view, rows, all, rows.other, 0.0, w.data(), -0.1));
  }
}

TEST(a_trial_looks_along_the_direction_in_hand) {
  const Toy toy(Loss::hinge);
  Point point(toy);
  const InteriorRows rows = point.rows();
  const Span all{0, toy.view.n()};
  const std::vector<double> w = random_vector(toy.view.rows.weight_rows());
  std::vector<double> vectors(3 * w.size());
  interior_point(toy.view, rows, all, 0.0, w.data(), 0.3, vectors.data());
  interior_direction(toy.view, rows, all, rows.now, 0.2, w.data(), -0.1);
  const double factors[] = {0.0, 0.5, 3.0};
  double sums[5] = {0.0, 0.0, 1.0, 0.0, 0.0};
  interior_trial(toy.view, rows, all, factors, 3, sums);
  double expected[5] = {0.0, 0.0, 1.0, 0.0, 0.0};
  for (int64_t i = 0; i < toy.view.n(); ++i) {
    const int y = toy.view.side(i, 0);
    if (y == 0) continue;
    const double along = y * (toy.data.dot(i, w, 1) - 0.1);
    for (int t = 0; t < 3; ++t) {
      expected[t] += toy.cost(i, 0) * std::max(0.0, -rows.g[i] - factors[t] * along);
    }
    expected[y > 0 ? 3 : 4] += toy.cost(i, 0) * along;
  }
  for (int t = 0; t < 5; ++t) CHECK_CLOSE(sums[t], expected[t], 1e-9);
}

TEST(slacks_are_raised_in_the_rows_of_the_lane) {
  const Toy toy(Loss::hinge);
  Point point(toy);
  point.arrays[kR][5] = 9.0;
  const Point before = point;
  const InteriorRows rows = point.rows();
  interior_slacken(toy.view, rows, {3, toy.view.n()}, 7.0);
  for (int64_t i = 0; i < toy.view.n(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const bool set = i >= 3 && toy.view.side(i, 0) != 0;
    CHECK(rows.r[i] == (set ? std::max(7.0, before.arrays[kR][k]) : before.arrays[kR][k]));
    CHECK(rows.xi[i] == (set ? 7.0 : before.arrays[kXi][k]));
    CHECK(rows.a[i] == before.arrays[kA][k]);
  }
}

TEST(threads_share_the_rows_of_a_pass) {
  for (const Layout& layout : layouts_of(Value::f32)) {
    CONTEXT(to_string(layout));
    ToyProblem toy({.n = 20'000, .layout = layout});  // several pieces a thread
    const Span all{0, toy.view.n()};
    const std::vector<double> w = random_vector(toy.view.rows.weight_rows());
    const std::size_t gram_size = w.size() * w.size();
    std::vector<double> vectors[3], gram[3];
    PointSums sums[3];
    AffineSums affine[3];
    for (int k = 0; k < 3; ++k) {
      toy.view.threads = k == 0 ? 1 : 2;
      Point point(toy);
      const InteriorRows rows = point.rows();
      vectors[k].resize(4 * w.size());
      gram[k].resize(gram_size);
      sums[k] = interior_point(toy.view, rows, all, 0.1, w.data(), 0.3, vectors[k].data());
      interior_gram(toy.view, rows, all, 1.0, {0.0, 0.0}, gram[k].data());
      affine[k] =
          interior_affine(toy.view, rows, all, w.data(), 0.0, vectors[k].data() + 3 * w.size());
    }
    CHECK(vectors[1] == vectors[2] && gram[1] == gram[2]);  // whichever thread did which piece
    CHECK(sums[1].loss == sums[2].loss && affine[1].both == affine[2].both);
    CHECK_CLOSE(sums[0].loss, sums[1].loss, 1e-8);
    CHECK_CLOSE(affine[0].both, affine[1].both, 1e-8 * std::abs(affine[0].both));
    CHECK(affine[0].steps.primal == affine[1].steps.primal);
    for (std::size_t j = 0; j < vectors[0].size(); ++j) {
      CHECK_CLOSE(vectors[0][j], vectors[1][j], 1e-8 * std::max(1.0, std::abs(vectors[0][j])));
    }
    for (std::size_t j = 0; j < gram_size; ++j) {
      CHECK_CLOSE(gram[0][j], gram[1][j], 1e-8 * std::max(1.0, std::abs(gram[0][j])));
    }
  }
}
