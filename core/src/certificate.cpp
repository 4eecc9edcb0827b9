#include "pegasos/certificate.hpp"

#include <cmath>
#include <vector>

namespace pegasos {
namespace {

using std::int64_t;

// Neumaier's compensated sum: its error does not grow with the number of terms.
struct Sum {
  double value = 0.0;
  double lost = 0.0;
  void add(double term) {
    const double total = value + term;
    lost += std::abs(value) >= std::abs(term) ? (value - total) + term : (term - total) + value;
    value = total;
  }
  double total() const { return value + lost; }
};

struct LaneSums {
  Sum loss, dual_positive, dual_negative, cost, cost_norm, dual_norm;
  double support = 0.0;
};

}  // namespace

void add_gap_sums(const ProblemView& problem, const GapPass& pass) {
  const int64_t lanes = problem.lanes;
  const int64_t stride = problem.stride();
  std::vector<double> products(static_cast<std::size_t>(stride));
  std::vector<double> positive(static_cast<std::size_t>(stride));
  std::vector<double> negative(static_cast<std::size_t>(stride));
  std::vector<LaneSums> sums(static_cast<std::size_t>(lanes));

  for (int64_t row = pass.lo; row < pass.hi; ++row) {
    const double norm = std::sqrt(problem.squared_norms[row]);
    problem.rows.dot(row, pass.W, stride, products.data());
    bool any_positive = false;
    bool any_negative = false;
    for (int64_t k = 0; k < lanes; ++k) {
      positive[k] = negative[k] = 0.0;
      if (pass.products != nullptr) pass.products[(row - pass.lo) * lanes + k] = products[k];
      const int y = problem.label(row, k);
      if (y == 0) continue;
      LaneSums& sum = sums[k];
      const double cost = problem.cost(row, k, y);
      const double slack = 1.0 - y * (products[k] + pass.b[k]);
      // Written so that a NaN is added, not hidden.
      if (!(slack <= 0.0)) sum.loss.add(cost * slack);
      sum.cost.add(cost);
      sum.cost_norm.add(cost * norm);
      const double dual = pass.duals[(row - pass.lo) * lanes + k];
      if (dual == 0.0) continue;
      sum.support += 1.0;
      sum.dual_norm.add(dual * norm);
      if (y > 0) {
        sum.dual_positive.add(dual);
        positive[k] = dual;
        any_positive = true;
      } else {
        sum.dual_negative.add(dual);
        (pass.U_negative == nullptr ? positive : negative)[k] =
            pass.U_negative == nullptr ? -dual : dual;
        (pass.U_negative == nullptr ? any_positive : any_negative) = true;
      }
    }
    if (any_positive) problem.rows.axpy(row, positive.data(), pass.U_positive, stride);
    if (any_negative) problem.rows.axpy(row, negative.data(), pass.U_negative, stride);
  }
  for (int64_t k = 0; k < lanes; ++k) {
    GapSums& out = pass.sums[k];
    out.loss += sums[k].loss.total();
    out.dual_positive += sums[k].dual_positive.total();
    out.dual_negative += sums[k].dual_negative.total();
    out.cost += sums[k].cost.total();
    out.cost_norm += sums[k].cost_norm.total();
    out.dual_norm += sums[k].dual_norm.total();
    out.support += sums[k].support;
    out.blocks += 1.0;
  }
}

}  // namespace pegasos
