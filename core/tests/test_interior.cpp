// The interior point method's passes: Newton's equations hold row by row.
#include <algorithm>
#include <cmath>

#include "harness.hpp"
#include "pegasos/solver/interior.hpp"
#include "toy.hpp"

using namespace pegasos;
using namespace toy;

namespace {

// A point strictly inside, with a direction already in hand.
struct Point {
  explicit Point(const ToyProblem& toy) : n(static_cast<std::size_t>(toy.view.n())) {
    Random random(7);
    for (auto& array : arrays) array.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double cost = toy.cost(static_cast<int64_t>(i), 0);
      arrays[0][i] = cost * random.real(0.1, 0.9);
      arrays[1][i] = cost - arrays[0][i];
      for (int p : {2, 3}) arrays[p][i] = random.real(0.2, 2.0);
      for (int p : {8, 9, 10}) arrays[p][i] = random.real(-0.1, 0.1);
    }
  }
  InteriorRows rows() {
    return {arrays[0].data(), arrays[1].data(), arrays[2].data(), arrays[3].data(),
            arrays[4].data(), arrays[5].data(), arrays[6].data(), arrays[7].data(),
            arrays[8].data(), arrays[9].data(), arrays[10].data()};
  }
  std::size_t n;
  std::vector<double> arrays[11];
};

std::vector<double> random_vector(int64_t size) {
  Random random(3);
  std::vector<double> out;
  for (int64_t j = 0; j < size; ++j) out.push_back(random.real(-0.5, 0.5));
  return out;
}

}  // namespace

TEST(outer_adds_the_upper_triangle_in_every_storage) {
  for (Value value : {Value::f32, Value::f64, Value::i8, Value::u8}) {
    for (const Layout& layout : layouts_of(value)) {
      CONTEXT(to_string(layout));
      const ToyProblem toy({.layout = layout});
      const int64_t d = toy.view.rows.d();
      std::vector<double> gram(static_cast<std::size_t>(d * d));
      for (int64_t i = 0; i < toy.view.n(); ++i) toy.view.rows.outer(i, 0.5, gram.data());
      for (int64_t p = 0; p < d; ++p) {
        for (int64_t q = 0; q < d; ++q) {
          double sum = 0.0;
          for (int64_t i = 0; i < toy.view.n() && p <= q; ++i) {
            sum += 0.5 * toy.data.x(i, p) * toy.data.x(i, q);
          }
          CHECK_CLOSE(gram[p * d + q], sum, 1e-12 * std::max(1.0, std::abs(sum)));
        }
      }
    }
  }
}

TEST(residuals_are_those_of_the_slack_form) {
  const ToyProblem toy({.weighted = true, .absent = true});
  Point point(toy);
  const InteriorRows rows = point.rows();
  const std::vector<double> w = random_vector(toy.view.rows.weight_rows());
  std::vector<double> u(w.size()), expected(w.size());
  const InteriorSums sums =
      interior_residuals(toy.view, 0, toy.view.n(), w.data(), 0.3, rows, u.data());
  double complementarity = 0.0, loss = 0.0, dual = 0.0, balance = 0.0;
  for (int64_t i = 0; i < toy.view.n(); ++i) {
    const int y = toy.view.label(i, 0);
    if (y == 0) continue;
    const double margin = y * (toy.data.dot(i, w, 1) + 0.3);
    CHECK_CLOSE(rows.rp[i], margin - 1 + rows.xi[i] - rows.r[i], 1e-12);
    CHECK_CLOSE(1 / rows.scale[i], rows.r[i] / rows.a[i] + rows.xi[i] / rows.v[i], 1e-9);
    complementarity += rows.a[i] * rows.r[i] + rows.v[i] * rows.xi[i];
    loss += toy.cost(i, 0) * std::max(0.0, 1 - margin);
    dual += rows.a[i];
    balance += rows.a[i] * y;
    toy.data.axpy(i, rows.a[i] * y, expected, 1);
  }
  CHECK_CLOSE(sums.complementarity, complementarity, 1e-10);
  CHECK_CLOSE(sums.loss, loss, 1e-10);
  CHECK_CLOSE(sums.dual, dual, 1e-10);
  CHECK_CLOSE(sums.balance, balance, 1e-10);
  for (std::size_t j = 0; j < u.size(); ++j) CHECK_CLOSE(u[j], expected[j], 1e-10);
}

TEST(a_direction_solves_the_equations_of_its_rows) {
  for (Target target : {Target::affine, Target::centred, Target::corrected}) {
    CONTEXT("target " << static_cast<int>(target));
    const ToyProblem toy({.weighted = true, .absent = true});
    Point point(toy);
    const InteriorRows rows = point.rows();
    const int64_t n = toy.view.n();
    const std::vector<double> w = random_vector(toy.view.rows.weight_rows());
    std::vector<double> u(w.size()), rhs(w.size()), expected(w.size());
    interior_residuals(toy.view, 0, n, w.data(), 0.3, rows, u.data());
    const double sum = interior_targets(toy.view, 0, n, {target, 0.2, 0.9, 0.8}, rows, rhs.data());
    double expected_sum = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      const int y = toy.view.label(i, 0);
      if (y == 0) continue;
      const double h = rows.ra[i] / rows.a[i] - rows.rv[i] / rows.v[i] - rows.rp[i];
      expected_sum += rows.scale[i] * h * y;
      toy.data.axpy(i, rows.scale[i] * h * y, expected, 1);
    }
    CHECK_CLOSE(sum, expected_sum, 1e-10);
    for (std::size_t j = 0; j < rhs.size(); ++j) CHECK_CLOSE(rhs[j], expected[j], 1e-10);
    const StepLengths step = interior_direction(toy.view, 0, n, w.data(), -0.1, rows);
    double after = 0.0;
    double smallest = 1.0;
    for (int64_t i = 0; i < n; ++i) {
      const int y = toy.view.label(i, 0);
      if (y == 0) continue;
      const double da = rows.da[i], dr = rows.dr[i], dxi = rows.dxi[i];
      CHECK_CLOSE(rows.a[i] * dr + rows.r[i] * da, rows.ra[i], 1e-9);
      CHECK_CLOSE(rows.v[i] * dxi - rows.xi[i] * da, rows.rv[i], 1e-9);
      CHECK_CLOSE(dr, y * (toy.data.dot(i, w, 1) - 0.1) + dxi + rows.rp[i], 1e-8);
      const double a = rows.a[i] + step.dual * da, v = rows.v[i] - step.dual * da;
      const double r = rows.r[i] + step.primal * dr, xi = rows.xi[i] + step.primal * dxi;
      CHECK(std::min({a, v, r, xi}) >= -1e-12);
      smallest = std::min({smallest, a, v, r, xi});
      after += a * r + v * xi;
    }
    CHECK(step.primal == 1.0 || step.dual == 1.0 || smallest < 1e-12);  // as far as it goes
    CHECK_CLOSE(interior_complementarity(toy.view, 0, n, step, rows), after, 1e-9);
  }
}
