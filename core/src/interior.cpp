#include "pegasos/solver/interior.hpp"

#include <cmath>

#include "interior_blocks.hpp"

namespace pegasos {
namespace {

using std::int64_t;

// One row at a point.
struct Row {
  double a, v, r, xi, g, scale;
  Row(const InteriorRows& rows, int64_t i)
      : a(rows.a[i]),
        v(rows.v[i]),
        r(rows.r[i]),
        xi(rows.xi[i]),
        g(rows.g[i]),
        scale(rows.scale[i]) {}
};

void shorten(double value, double change, double& step) {
  if (change * step < -value) step = -value / change;
}

void shorten(const Row& row, double da, double dr, double dxi, bool squared, StepLengths& steps) {
  shorten(row.r, dr, steps.primal);
  shorten(row.a, da, steps.dual);
  if (squared) return;
  shorten(row.xi, dxi, steps.primal);
  shorten(row.v, -da, steps.dual);
}

// Pulls a product towards [low, high], by at most `high` at once.
double pulled(double product, double low, double high) {
  return std::max(std::clamp(product, low, high) - product, -high);
}

void step_along(const InteriorRows& rows, int64_t i, double step, bool squared) {
  const double da = rows.now.da[i];
  const double dr = (rows.now.ra[i] - rows.r[i] * da) / rows.a[i];
  if (!squared) {
    rows.xi[i] += step * (rows.now.rv[i] + rows.xi[i] * da) / rows.v[i];
    rows.v[i] -= step * da;
  }
  rows.r[i] += step * dr;
  rows.a[i] += step * da;
}

// A pass: products with w (if given), visit(block, k, row, sum) for every row, then the
// factors it left times the rows, added to `vectors` vectors of d + 1 in out.
template <class Sum, class Visit>
Sum pass(const ProblemView& problem, Span span, const double* w, int64_t vectors, double* out,
         const Visit& visit) {
  const BlockProducts multiply(problem.rows);
  const int64_t size = vectors * problem.rows.weight_rows();
  const auto all = [](int64_t) { return true; };
  return in_shares<Sum>(problem, span, problem.threads, size, out,
                        [&](Span share, double* to, Sum& sum) {
                          each_block(problem, share, all, [&](InteriorBlock& block) {
                            if (w != nullptr) multiply.products(block, w);
                            for (int64_t k = 0; k < block.size; ++k) {
                              visit(block, k, block.ids[k], sum);
                            }
                            if (vectors > 0) multiply.add(block, vectors, to);
                          });
                        });
}

}  // namespace

PointSums interior_point(const ProblemView& problem, const InteriorRows& rows, Span span,
                         double step, const double* w, double b, double* vectors) {
  const bool squared = problem.loss == Loss::squared_hinge;
  const auto visit = [&](InteriorBlock& block, int64_t k, int64_t i, PointSums& sum) {
    const double y = block.y[k];
    const double c = block.c[k];
    const double g = y * (block.products[k] + b) - 1.0;
    rows.g[i] = g;
    step_along(rows, i, step, squared);
    const double a = rows.a[i];
    const double r = rows.r[i];
    if (squared) {
      rows.v[i] = a;
      rows.xi[i] = a / (2.0 * c);
    }
    const double v = rows.v[i];
    const double xi = rows.xi[i];
    const double scale = 1.0 / (r / a + xi / v);
    rows.scale[i] = scale;
    sum.complementarity += squared ? a * r : a * r + v * xi;
    // Written so that a NaN is added, not hidden.
    if (!(g >= 0.0)) sum.loss += squared ? c * g * g : -c * g;
    sum.dual += squared ? a - a * a / (4.0 * c) : a;
    sum.balance += a * y;
    sum.scale += scale;
    const double t = -y * scale * (squared ? g + xi : g);
    const double by_mu = y * scale * (squared ? 1.0 / a : 1.0 / a - 1.0 / v);
    sum.affine += t;
    sum.centre += by_mu;
    block.factors[k] = a * y;
    block.factors[kBlockRows + k] = t;
    block.factors[2 * kBlockRows + k] = by_mu;
  };
  return pass<PointSums>(problem, span, w, 3, vectors, visit);
}

AffineSums interior_affine(const ProblemView& problem, const InteriorRows& rows, Span span,
                           const double* dw, double db, double* second) {
  const bool squared = problem.loss == Loss::squared_hinge;
  const auto visit = [&](InteriorBlock& block, int64_t k, int64_t i, AffineSums& sum) {
    const Row row(rows, i);
    const double h = squared ? -row.g - row.xi : -row.g;
    const double da = row.scale * (h - block.y[k] * (block.products[k] + db));
    const double dr = -row.r - row.r / row.a * da;
    const double dxi = row.xi / row.v * da - (squared ? 0.0 : row.xi);
    shorten(row, da, dr, dxi, squared, sum.steps);
    sum.primal += squared ? row.a * dr : row.a * dr + row.v * dxi;
    sum.dual += squared ? row.r * da : (row.r - row.xi) * da;
    sum.both += squared ? da * dr : da * (dr - dxi);
    rows.now.ra[i] = -row.a * row.r - da * dr;
    rows.now.rv[i] = squared ? 0.0 : -row.v * row.xi + da * dxi;
    const double terms = squared ? dr / row.a : dr / row.a + dxi / row.v;
    const double t = -block.y[k] * row.scale * da * terms;
    block.factors[k] = t;
    sum.second += t;
  };
  return pass<AffineSums>(problem, span, dw, 1, second, visit);
}

StepLengths interior_direction(const ProblemView& problem, const InteriorRows& rows, Span span,
                               const InteriorDirection& direction, double mu, const double* dw,
                               double db) {
  const bool squared = problem.loss == Loss::squared_hinge;
  const auto visit = [&](InteriorBlock& block, int64_t k, int64_t i, StepLengths& steps) {
    const Row row(rows, i);
    const double ra = direction.ra[i] += mu;
    const double rv = direction.rv[i] += squared ? 0.0 : mu;
    const double h = ra / row.a - rv / row.v - (row.g + row.xi - row.r);
    const double da = row.scale * (h - block.y[k] * (block.products[k] + db));
    direction.da[i] = da;
    const double dr = (ra - row.r * da) / row.a;
    const double dxi = (rv + row.xi * da) / row.v;
    shorten(row, da, dr, dxi, squared, steps);
  };
  return pass<StepLengths>(problem, span, dw, 0, nullptr, visit);
}

double interior_correct(const ProblemView& problem, const InteriorRows& rows, Span span, double mu,
                        const StepLengths& enlarged, double* rhs) {
  const bool squared = problem.loss == Loss::squared_hinge;
  const double p = enlarged.primal;
  const double q = enlarged.dual;
  const double low = 0.1 * mu;
  const double high = 10.0 * mu;
  const auto visit = [&](InteriorBlock& block, int64_t k, int64_t i, double& sum) {
    const Row row(rows, i);
    const double ra = rows.now.ra[i];
    const double rv = rows.now.rv[i];
    const double da = rows.now.da[i];
    const double dr = (ra - row.r * da) / row.a;
    const double dxi = (rv + row.xi * da) / row.v;
    const double more_a = pulled((row.a + q * da) * (row.r + p * dr), low, high);
    const double more_v = squared ? 0.0 : pulled((row.v - q * da) * (row.xi + p * dxi), low, high);
    rows.other.ra[i] = ra + more_a;
    rows.other.rv[i] = rv + more_v;
    const double t = block.y[k] * row.scale * (more_a / row.a - more_v / row.v);
    block.factors[k] = t;
    sum += t;
  };
  return pass<double>(problem, span, nullptr, 1, rhs, visit);
}

}  // namespace pegasos
