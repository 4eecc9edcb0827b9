// Losses and duals: each is what the other's maximisation says.
#include <algorithm>
#include <cmath>

#include "harness.hpp"
#include "pegasos/loss.hpp"

using namespace pegasos;

namespace {

constexpr double kCosts[] = {0.25, 1.0, 3.0};
constexpr double kSlacks[] = {-2.0, -0.5, -1e-3, 1e-3, 0.4, 1.0, 2.5};

// Calls body(loss, cost) for every loss.
template <class Body>
void each_loss(const Body& body) {
  for (const auto& [loss, name] : kLosses) {
    for (double cost : kCosts) {
      CONTEXT(name << ", cost " << cost);
      with_loss(loss, [&](auto one) { body(one, cost); });
    }
  }
}

// Duals of the box, or of a part that is large enough.
template <class L, class Body>
void each_dual(L loss, double cost, const Body& body) {
  const double most = std::min(loss.most(cost), 8.0 * cost);
  for (int k = 0; k <= 4000; ++k) {
    body(loss.least(cost) + (most - loss.least(cost)) * k / 4000.0);
  }
}

}  // namespace

TEST(a_loss_is_the_maximum_over_its_box) {
  each_loss([](auto loss, double cost) {
    for (double slack : kSlacks) {
      double best = 0.0;
      each_dual(loss, cost, [&](double a) {
        best = std::max(best, loss.worth(a, cost, 1.5) - a * (1.5 - slack));
      });
      CHECK_CLOSE(loss.value(slack, cost), best, 1e-5 * cost);
      CHECK(loss.value(slack, cost) >= best - 1e-12);
    }
  });
}

TEST(a_gap_is_what_a_dual_is_short_of_the_loss) {
  each_loss([](auto loss, double cost) {
    for (double slack : kSlacks) {
      each_dual(loss, cost, [&](double a) {
        const double reached = loss.worth(a, cost, 1.5) - a * (1.5 - slack);
        CHECK_CLOSE(loss.gap(slack, cost, a), loss.value(slack, cost) - reached, 1e-12);
      });
      const double best = loss.rounded_dual(slack, cost, 0.5 / 1e-6);  // far from the kink
      CHECK_CLOSE(loss.gap(slack, cost, best), 0.0, 1e-12);
    }
  });
}

TEST(curvature_is_that_of_a_dual) {
  each_loss([](auto loss, double cost) {
    if constexpr (loss.curved) {
      const double kappa = loss.curvature(cost);
      each_dual(loss, cost, [&](double a) {
        CHECK_CLOSE(loss.worth(a, cost, 0.0), -kappa * a * a / 2.0, 1e-12);
        CHECK_CLOSE(loss.square(a, cost), kappa * a * a / 2.0, 1e-12);
        CHECK_CLOSE(loss.bend(a, cost), kappa * a, 1e-12);
        const double after = loss.square(a + 0.5, cost);
        CHECK_CLOSE(loss.square_rise(a, 0.5, cost), after - loss.square(a, cost), 1e-11);
      });
      CHECK(std::isfinite(loss.square(1e200, 1e200)));
    } else {
      each_dual(loss, cost, [&](double a) { CHECK_EQUAL(loss.worth(a, cost, 1.0), a); });
    }
  });
}

TEST(a_rounded_loss_has_its_duals_in_the_box_and_their_slope) {
  each_loss([](auto loss, double cost) {
    const double width = 0.3, half = 0.5 / width, step = 1e-7;
    for (double slack = -1.0; slack < 1.0; slack += 0.0101) {
      const double a = loss.rounded_dual(slack, cost, half);
      CHECK(loss.least(cost) <= a && a <= loss.most(cost));
      const double beyond = loss.rounded_dual(slack + step, cost, half);
      CHECK_CLOSE(loss.rounded_slope(slack, cost, width, half), (beyond - a) / step, 1e-5 * cost);
      if (std::abs(slack) > width) CHECK_CLOSE(a, loss.slope(slack, cost, 0.0), 1e-12);
    }
  });
}

TEST(the_slope_of_a_kink_counts_from_just_before_it) {
  each_loss([](auto loss, double cost) {
    const double before = loss.slope(-0.5e-6, cost, 1e-6);
    CHECK_EQUAL(before, loss.curved ? 0.0 : cost);
    CHECK_EQUAL(loss.slope(-2e-6, cost, 1e-6), 0.0);
    for (double slack : {0.5, 2.0}) {
      const double step = 1e-6;
      const double rise = loss.value(slack + step, cost) - loss.value(slack, cost);
      CHECK_CLOSE(loss.slope(slack, cost, 1e-6), rise / step, 1e-5 * cost);
    }
  });
}

TEST(a_slack_that_is_no_number_shows) {
  each_loss([](auto loss, double cost) {
    CHECK(std::isnan(loss.value(std::nan(""), cost)));
    CHECK(!(loss.slope(std::nan(""), cost, 1e-6) == 0.0));
  });
}
