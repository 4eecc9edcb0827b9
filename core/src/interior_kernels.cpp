// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
//
// Every formula is written once, for a number type V: eight rows at a time, and one for the rest.
// Divisions are what these loops cost, so that quotients share them.
#include "pegasos/dense_blocks.hpp"
#include "pegasos/solver/interior_rows.hpp"
#include "vector_rows.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

// A largest value of eight lanes; single rows go to the first.
struct Largest {
  Eight lanes = Eight{} + 1.0;
  void see(Eight value) { lanes = larger(lanes, value); }
  void see(double value) { lanes[0] = larger(lanes[0], value); }
  // The step in (0, 1] that the largest relative fall allows.
  double step() const {
    double most = 1.0;
    for (int k = 0; k < 8; ++k) most = larger(most, lanes[k]);
    return 1.0 / most;
  }
};

template <class V>
struct Row {
  V a, v, r, xi, g, scale;
  Row(const InteriorRows& rows, int64_t i)
      : a(load<V>(rows.a + i)),
        v(load<V>(rows.v + i)),
        r(load<V>(rows.r + i)),
        xi(load<V>(rows.xi + i)),
        g(load<V>(rows.g + i)),
        scale(load<V>(rows.scale + i)) {}
};

template <class L>
void point_rows(L loss, const InteriorRows& rows, const RowBatch& batch, double step,
                PointSums& sums) {
  Sum complementarity, losses, dual, balance, scales, affine, centre;
  each(batch.size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const int64_t i = batch.first + k;
    const V y = load<V>(batch.y + k);
    const V c = load<V>(batch.c + k);
    const V offset = load<V>(batch.offset + k);
    const V g = y * (load<V>(batch.products + k) + batch.b) - offset;
    const V da = load<V>(rows.now.da + i);
    V a = load<V>(rows.a + i);
    V r = load<V>(rows.r + i);
    r += step * (load<V>(rows.now.ra + i) - r * da) / a;
    a += step * da;
    V v, xi;
    if constexpr (L::bounded) {
      v = load<V>(rows.v + i);
      xi = load<V>(rows.xi + i);
      xi += step * (load<V>(rows.now.rv + i) + xi * da) / v;
      v -= step * da;
    } else {
      v = a;
      xi = loss.bend(a, c);
    }
    const V inverse = 1.0 / (r * v + xi * a);  // D = 1 / (r/a + xi/v) = a v inverse
    const V scale = a * v * inverse;
    store(rows.a + i, a);
    store(rows.v + i, v);
    store(rows.r + i, r);
    store(rows.xi + i, xi);
    store(rows.g + i, g);
    store(rows.scale + i, scale);
    complementarity.add(L::bounded ? a * r + v * xi : a * r);
    losses.add(loss.value(-g, c));
    dual.add(L::curved ? offset * a - a * xi / 2.0 : offset * a);  // xi = kappa a
    const V signed_dual = a * y;
    balance.add(signed_dual);
    scales.add(scale);
    const V t = -y * scale * (L::bounded ? g : g + xi);
    const V by_mu = y * inverse * (L::bounded ? rows.share * v - a : rows.share * v);
    affine.add(t);
    centre.add(by_mu);
    store(batch.factors + k, signed_dual);
    store(batch.factors + kBlockRows + k, t);
    store(batch.factors + 2 * kBlockRows + k, by_mu);
  });
  sums.complementarity += complementarity.total();
  sums.loss += losses.total();
  sums.dual += dual.total();
  sums.balance += balance.total();
  sums.scale += scales.total();
  sums.affine += affine.total();
  sums.centre += centre.total();
}

// The lengths seen so far, and those of these rows.
void shorten(StepLengths& steps, const Largest& primal, const Largest& dual) {
  steps.primal = smaller(steps.primal, primal.step());
  steps.dual = smaller(steps.dual, dual.step());
}

template <class L>
void affine_rows(L, const InteriorRows& rows, const RowBatch& batch, AffineSums& sums) {
  Sum primal, dual, both, second;
  Largest primal_fall, dual_fall;
  each(batch.size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const int64_t i = batch.first + k;
    const V y = load<V>(batch.y + k);
    const Row<V> row(rows, i);
    const V h = L::bounded ? -row.g : -row.g - row.xi;
    const V da = row.scale * (h - y * (load<V>(batch.products + k) + batch.b));
    const V by_a = da / row.a;
    const V by_v = da / row.v;
    const V dr = -row.r * (1.0 + by_a);
    const V dxi = row.xi * (L::bounded ? by_v - 1.0 : by_v);
    primal_fall.see(1.0 + by_a);
    dual_fall.see(-by_a);
    if constexpr (L::bounded) {
      primal_fall.see(1.0 - by_v);
      dual_fall.see(by_v);
    }
    primal.add(L::bounded ? row.a * dr + row.v * dxi : row.a * dr);
    dual.add(L::bounded ? (row.r - row.xi) * da : row.r * da);
    both.add(L::bounded ? da * (dr - dxi) : da * dr);
    store(rows.now.ra + i, -row.a * row.r - da * dr);
    store(rows.now.rv + i, L::bounded ? -row.v * row.xi + da * dxi : V{});
    const V t = -y * row.scale * (L::bounded ? dr * by_a + dxi * by_v : dr * by_a);
    store(batch.factors + k, t);
    second.add(t);
  });
  shorten(sums.steps, primal_fall, dual_fall);
  sums.primal += primal.total();
  sums.dual += dual.total();
  sums.both += both.total();
  sums.second += second.total();
}

template <class L>
void direction_rows(L, const InteriorRows& rows, const InteriorDirection& direction,
                    const RowBatch& batch, double mu, StepLengths& steps) {
  Largest primal_fall, dual_fall;
  each(batch.size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const int64_t i = batch.first + k;
    const Row<V> row(rows, i);
    const V ra = load<V>(direction.ra + i) + rows.share * mu;
    const V rv = L::bounded ? load<V>(direction.rv + i) + mu : V{};
    const V by_ar = 1.0 / (row.a * row.r);
    const V by_vxi = L::bounded ? 1.0 / (row.v * row.xi) : V{};
    const V h = ra * row.r * by_ar - rv * row.xi * by_vxi - (row.g + row.xi - row.r);
    const V da = row.scale * (h - load<V>(batch.y + k) * (load<V>(batch.products + k) + batch.b));
    primal_fall.see((row.r * da - ra) * by_ar);  // dr / r = (ra - r da) / (a r)
    dual_fall.see(-da * row.r * by_ar);
    if constexpr (L::bounded) {
      primal_fall.see(-(rv + row.xi * da) * by_vxi);
      dual_fall.see(da * row.xi * by_vxi);
    }
    store(direction.ra + i, ra);
    store(direction.rv + i, rv);
    store(direction.da + i, da);
  });
  shorten(steps, primal_fall, dual_fall);
}

// How far to pull a product towards [aim/10, 10 aim], by at most the latter at once.
template <class V>
V pulled(V product, double aim) {
  const double low = 0.1 * aim;
  const double high = 10.0 * aim;
  const V inside = smaller(larger(product, V{} + low), V{} + high);
  return larger(inside - product, V{} - high);
}

template <class L>
void correct_rows(L, const InteriorRows& rows, const RowBatch& batch, double mu,
                  const StepLengths& enlarged, double& total) {
  const double p = enlarged.primal;
  const double q = enlarged.dual;
  Sum sum;
  each(batch.size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const int64_t i = batch.first + k;
    const Row<V> row(rows, i);
    const V ra = load<V>(rows.now.ra + i);
    const V rv = load<V>(rows.now.rv + i);
    const V da = load<V>(rows.now.da + i);
    const V by_a = 1.0 / row.a;
    const V by_v = 1.0 / row.v;
    const V r = row.r + p * (ra - row.r * da) * by_a;
    const V xi = row.xi + p * (rv + row.xi * da) * by_v;
    const V more_a = pulled((row.a + q * da) * r, rows.share * mu);
    const V more_v = L::bounded ? pulled((row.v - q * da) * xi, mu) : V{};
    store(rows.other.ra + i, ra + more_a);
    store(rows.other.rv + i, rv + more_v);
    const V t = load<V>(batch.y + k) * row.scale * (more_a * by_a - more_v * by_v);
    store(batch.factors + k, t);
    sum.add(t);
  });
  total += sum.total();
}

void point(const InteriorRows& rows, const RowBatch& batch, double step, PointSums& sums) {
  with_loss(batch.loss, [&](auto loss) { point_rows(loss, rows, batch, step, sums); });
}
void affine(const InteriorRows& rows, const RowBatch& batch, AffineSums& sums) {
  with_loss(batch.loss, [&](auto loss) { affine_rows(loss, rows, batch, sums); });
}
void direction(const InteriorRows& rows, const InteriorDirection& to, const RowBatch& batch,
               double mu, StepLengths& steps) {
  with_loss(batch.loss, [&](auto loss) { direction_rows(loss, rows, to, batch, mu, steps); });
}
void correct(const InteriorRows& rows, const RowBatch& batch, double mu,
             const StepLengths& enlarged, double& sum) {
  with_loss(batch.loss, [&](auto loss) { correct_rows(loss, rows, batch, mu, enlarged, sum); });
}

constexpr InteriorKernels kKernels = {&point, &affine, &direction, &correct};

}  // namespace

const InteriorKernels& select_interior() { return kKernels; }

}  // namespace pegasos::PEGASOS_KERNELS
