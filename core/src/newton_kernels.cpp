// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/dense_blocks.hpp"
#include "pegasos/solver/newton_rows.hpp"
#include "vector_rows.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

template <class L>
void point_rows(L loss, const NewtonRows& rows, const RowBatch& batch, double step,
                const Widths& widths, NewtonSums& sums) {
  Sum losses, duals, rounded, balance;
  const double half = 0.5 / widths.now;
  const double half_before = widths.before > 0.0 ? 0.5 / widths.before : 0.0;
  const bool first = !(widths.before > 0.0);
  each(batch.size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const int64_t i = batch.first + k;
    const V y = load<V>(batch.y + k);
    const V c = load<V>(batch.c + k);
    const V old = load<V>(rows.slack + i);
    const V slack = old + step * load<V>(rows.change + i);
    const V before = first ? V{} : loss.rounded_dual(old, c, half_before);
    const V a = loss.rounded_dual(slack, c, half);
    store(rows.slack + i, slack);
    const V offset = load<V>(batch.offset + k);
    const V lost = loss.value(slack, c);
    const V dual = loss.worth(a, c, offset);
    losses.add(lost);
    duals.add(dual);
    rounded.add(lost - dual + a * (offset - slack));
    balance.add(a * y);
    store(batch.factors + k, y * (a - before));
    store(batch.factors + kBlockRows + k, loss.rounded_slope(slack, c, widths.now, half));
  });
  sums.loss += losses.total();
  sums.dual += duals.total();
  sums.rounded += rounded.total();
  sums.balance += balance.total();
}

template <class L>
void line_rows(L loss, const NewtonRows& rows, const RowBatch& batch, double step, double width,
               LineSums& sums) {
  Sum slope, curvature;
  const double half = 0.5 / width;
  each(batch.size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const int64_t i = batch.first + k;
    const V c = load<V>(batch.c + k);
    const V change = load<V>(rows.change + i);
    const V slack = load<V>(rows.slack + i) + step * change;
    slope.add(loss.rounded_dual(slack, c, half) * change);
    curvature.add(loss.rounded_slope(slack, c, width, half) * change * change);
  });
  sums.slope += slope.total();
  sums.curvature += curvature.total();
}

void point(const NewtonRows& rows, const RowBatch& batch, double step, const Widths& widths,
           NewtonSums& sums) {
  with_loss(batch.loss, [&](auto loss) { point_rows(loss, rows, batch, step, widths, sums); });
}

void along(const NewtonRows& rows, const RowBatch& batch) {
  each(batch.size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const V product = load<V>(batch.products + k) + batch.b;
    store(rows.change + batch.first + k, -load<V>(batch.y + k) * product);
  });
}

void line(const NewtonRows& rows, const RowBatch& batch, double step, double width,
          LineSums& sums) {
  with_loss(batch.loss, [&](auto loss) { line_rows(loss, rows, batch, step, width, sums); });
}

constexpr NewtonKernels kKernels = {&point, &along, &line};

}  // namespace

const NewtonKernels& select_newton() { return kKernels; }

}  // namespace pegasos::PEGASOS_KERNELS
