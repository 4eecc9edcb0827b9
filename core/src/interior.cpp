#include "pegasos/solver/interior.hpp"

#include <algorithm>

namespace pegasos {
namespace {

using std::int64_t;

// Calls body(row, y, c) for the rows of the lane.
template <class Body>
void each_row(const ProblemView& problem, int64_t lo, int64_t hi, Body body) {
  for (int64_t row = lo; row < hi; ++row) {
    const int y = problem.label(row, 0);
    if (y == 0) continue;
    const double cost = problem.cost(row, 0, y);
    if (cost > 0.0) body(row, static_cast<double>(y), cost);
  }
}

double room(double value, double change, double step) {
  return change < 0.0 ? std::min(step, -value / change) : step;
}

// Pulls a product towards [low, high], by at most `high` at once.
double pulled(double product, double low, double high) {
  return std::max(std::clamp(product, low, high) - product, -high);
}

}  // namespace

InteriorSums interior_residuals(const ProblemView& problem, int64_t lo, int64_t hi, const double* w,
                                double b, const InteriorRows& rows, double* u) {
  InteriorSums sums{};
  each_row(problem, lo, hi, [&](int64_t i, double y, double c) {
    double product = 0.0;
    problem.rows.dot(i, w, 1, &product);
    const double margin = y * (product + b);
    const double a = rows.a[i];
    const double v = rows.v[i];
    rows.rp[i] = margin - 1.0 + rows.xi[i] - rows.r[i];
    rows.scale[i] = 1.0 / (rows.r[i] / a + rows.xi[i] / v);
    sums.complementarity += a * rows.r[i] + v * rows.xi[i];
    if (!(margin >= 1.0)) sums.loss += c * (1.0 - margin);
    sums.dual += a;
    sums.balance += a * y;
    const double factor = a * y;
    problem.rows.axpy(i, &factor, u, 1);
  });
  return sums;
}

double interior_targets(const ProblemView& problem, int64_t lo, int64_t hi, const Aim& aim,
                        const InteriorRows& rows, double* rhs) {
  double sum = 0.0;
  each_row(problem, lo, hi, [&](int64_t i, double y, double) {
    const double a = rows.a[i];
    const double v = rows.v[i];
    const double r = rows.r[i];
    const double xi = rows.xi[i];
    if (aim.target == Target::affine) {
      rows.ra[i] = -a * r;
      rows.rv[i] = -v * xi;
    } else if (aim.target == Target::centred) {
      rows.ra[i] = aim.mu - a * r - rows.da[i] * rows.dr[i];
      rows.rv[i] = aim.mu - v * xi + rows.da[i] * rows.dxi[i];
    } else {
      const double p = aim.primal_step;
      const double q = aim.dual_step;
      rows.ra[i] += pulled((a + q * rows.da[i]) * (r + p * rows.dr[i]), 0.1 * aim.mu, 10 * aim.mu);
      rows.rv[i] +=
          pulled((v - q * rows.da[i]) * (xi + p * rows.dxi[i]), 0.1 * aim.mu, 10 * aim.mu);
    }
    const double t = rows.scale[i] * (rows.ra[i] / a - rows.rv[i] / v - rows.rp[i]) * y;
    sum += t;
    problem.rows.axpy(i, &t, rhs, 1);
  });
  return sum;
}

StepLengths interior_direction(const ProblemView& problem, int64_t lo, int64_t hi, const double* dw,
                               double db, const InteriorRows& rows) {
  StepLengths step{1.0, 1.0};
  each_row(problem, lo, hi, [&](int64_t i, double y, double) {
    double product = 0.0;
    problem.rows.dot(i, dw, 1, &product);
    const double a = rows.a[i];
    const double v = rows.v[i];
    const double h = rows.ra[i] / a - rows.rv[i] / v - rows.rp[i];
    const double da = rows.scale[i] * (h - y * (product + db));
    const double dr = (rows.ra[i] - rows.r[i] * da) / a;
    const double dxi = (rows.rv[i] + rows.xi[i] * da) / v;
    rows.da[i] = da;
    rows.dr[i] = dr;
    rows.dxi[i] = dxi;
    step.primal = room(rows.r[i], dr, room(rows.xi[i], dxi, step.primal));
    step.dual = room(a, da, room(v, -da, step.dual));
  });
  return step;
}

double interior_complementarity(const ProblemView& problem, int64_t lo, int64_t hi,
                                const StepLengths& step, const InteriorRows& rows) {
  double sum = 0.0;
  each_row(problem, lo, hi, [&](int64_t i, double, double) {
    const double moved = step.dual * rows.da[i];
    sum += (rows.a[i] + moved) * (rows.r[i] + step.primal * rows.dr[i]) +
           (rows.v[i] - moved) * (rows.xi[i] + step.primal * rows.dxi[i]);
  });
  return sum;
}

void interior_step(const ProblemView& problem, int64_t lo, int64_t hi, const StepLengths& step,
                   const InteriorRows& rows) {
  each_row(problem, lo, hi, [&](int64_t i, double, double) {
    rows.a[i] += step.dual * rows.da[i];
    rows.v[i] -= step.dual * rows.da[i];
    rows.r[i] += step.primal * rows.dr[i];
    rows.xi[i] += step.primal * rows.dxi[i];
  });
}

void interior_gram(const ProblemView& problem, int64_t lo, int64_t hi, const double* scale,
                   double* gram, double* border) {
  each_row(problem, lo, hi, [&](int64_t i, double, double) {
    problem.rows.outer(i, scale[i], gram);
    problem.rows.axpy(i, &scale[i], border, 1);
  });
}

}  // namespace pegasos
