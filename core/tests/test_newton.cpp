// The passes of Newton's method on the smoothed hinge, against sums written out row by row.
#include <cmath>

#include "harness.hpp"
#include "pegasos/solver/newton.hpp"
#include "toy.hpp"

using namespace pegasos;
using namespace toy;

namespace {

constexpr Loss kHinges[] = {Loss::hinge, Loss::squared_hinge};

double dual(Loss loss, double slack, double cost, double width) {
  if (loss == Loss::squared_hinge) return 2.0 * cost * std::max(0.0, slack);
  return cost * std::min(1.0, std::max(0.0, (slack + width) / (2.0 * width)));
}
double curvature(Loss loss, double slack, double cost, double width) {
  if (loss == Loss::squared_hinge) return slack > 0.0 ? 2.0 * cost : 0.0;
  return std::abs(slack) < width ? cost / (2.0 * width) : 0.0;
}

struct Slacks {
  explicit Slacks(int64_t n) {
    Random random(7);
    for (int64_t i = 0; i < n; ++i) {
      slack.push_back(random.real(-2.0, 2.0));
      change.push_back(random.real(-1.0, 1.0));
    }
  }
  NewtonRows view() { return {slack.data(), change.data()}; }
  std::vector<double> slack, change;
};

bool in_sample(int64_t row, int64_t every) { return (row / 8) % every == 0; }

}  // namespace

TEST(a_newton_point_adds_what_its_rows_amount_to_in_every_storage) {
  for (const Layout& layout : all_layouts()) {
    for (Loss loss : kHinges) {
      for (int64_t every : {1, 3}) {
        CONTEXT(to_string(layout) << " loss " << static_cast<int>(loss) << " every " << every);
        ToyProblem toy({.n = 300,
                        .d = 9,
                        .layout = layout,
                        .weighted = true,
                        .absent = true,
                        .shifted = every > 1});
        toy.view.loss = loss;
        Slacks rows(300);
        const Slacks before = rows;
        const int64_t d1 = 10;
        std::vector<double> out(static_cast<std::size_t>(d1 * d1 + d1));
        const Widths widths{0.7, 0.4};
        const NewtonSums sums =
            newton_point(toy.view, rows.view(), {0, 300, every}, 0.5, widths, 0.25, out.data());
        NewtonSums expected;
        std::vector<double> matrix(out.size());
        for (int64_t i = 0; i < 300; ++i) {
          const int y = toy.view.side(i, 0);
          if (y == 0 || !in_sample(i, every)) {
            CHECK(rows.slack[i] == before.slack[i]);
            continue;
          }
          const double c = toy.cost(i, 0);
          const double m = before.slack[i] + 0.5 * before.change[i];
          CHECK_CLOSE(rows.slack[i], m, 1e-15);
          const double a = dual(loss, m, c, 0.4);
          const double old = dual(loss, before.slack[i], c, 0.7);
          const double lost = std::max(0.0, m);
          const double value = loss == Loss::hinge ? c * lost : c * lost * lost;
          const double offset = every > 1 ? toy.targets[i] : 1.0;
          const double worth = offset * a - (loss == Loss::hinge ? 0.0 : a * a / (4.0 * c));
          expected.loss += value;
          expected.dual += worth;
          expected.rounded += value - worth + a * (offset - m);
          expected.balance += a * y;
          for (int64_t p = 0; p < d1; ++p) {
            const double zp = p < 9 ? toy.data.x(i, p) : 0.25;
            matrix[d1 * d1 + p] += y * (a - old) * toy.data.x(i, p);
            for (int64_t q = p; q < d1; ++q) {
              const double zq = q < 9 ? toy.data.x(i, q) : 0.25;
              matrix[p * d1 + q] += curvature(loss, m, c, 0.4) * zp * zq;
            }
          }
        }
        CHECK_CLOSE(sums.loss, expected.loss, 1e-10);
        CHECK_CLOSE(sums.dual, expected.dual, 1e-10);
        CHECK_CLOSE(sums.rounded, expected.rounded, 1e-10);
        CHECK_CLOSE(sums.balance, expected.balance, 1e-10);
        for (int64_t p = 0; p <= d1; ++p) {
          for (int64_t q = p < d1 ? p : 0; q < d1; ++q) {
            const double wanted = matrix[p * d1 + q];
            CHECK_CLOSE(out[p * d1 + q], wanted, 1e-9 * std::max(1.0, std::abs(wanted)));
          }
        }
      }
    }
  }
}

TEST(the_first_point_counts_duals_from_nothing) {
  ToyProblem toy({.n = 50, .d = 4});
  Slacks rows(50);
  std::vector<double> out(30), again(30);
  newton_point(toy.view, rows.view(), {0, 50}, 0.0, {0.0, 0.5}, 0.0, out.data());
  for (int64_t i = 0; i < 50; ++i) {
    const double a = dual(Loss::hinge, rows.slack[i], toy.cost(i, 0), 0.5);
    toy.data.axpy(i, a * toy.view.side(i, 0), again, 1);
  }
  for (int64_t j = 0; j < 5; ++j) CHECK_CLOSE(out[25 + j], again[j], 1e-12);
}

TEST(slacks_change_along_a_direction_and_its_derivatives_are_those_of_the_loss) {
  for (const Layout& layout : layouts_of(Value::f32)) {
    for (Loss loss : kHinges) {
      CONTEXT(to_string(layout) << " loss " << static_cast<int>(loss));
      ToyProblem toy({.n = 300, .d = 9, .layout = layout, .weighted = true, .absent = true});
      toy.view.loss = loss;
      Slacks rows(300);
      const std::vector<double> old = rows.change;
      const std::vector<double> dw = {0.3, -0.2, 0.1, 0.5, -0.4, 0.2, 0.7, -0.1, 0.6, 0.9};
      newton_along(toy.view, rows.view(), {0, 300}, dw.data(), 0.125);
      double slope = 0.0;
      double curved = 0.0;
      for (int64_t i = 0; i < 300; ++i) {
        const int y = toy.view.side(i, 0);
        if (y == 0) {
          CHECK(rows.change[i] == old[i]);
          continue;
        }
        const double change = -y * (toy.data.dot(i, dw, 1) + 0.125);
        CHECK_CLOSE(rows.change[i], change, 1e-12);
        const double m = rows.slack[i] + 0.3 * change;
        slope += dual(loss, m, toy.cost(i, 0), 0.6) * change;
        curved += curvature(loss, m, toy.cost(i, 0), 0.6) * change * change;
      }
      const LineSums sums = newton_line(toy.view, rows.view(), {0, 300}, 0.3, 0.6);
      CHECK_CLOSE(sums.slope, slope, 1e-9);
      CHECK_CLOSE(sums.curvature, curved, 1e-9);
    }
  }
}
