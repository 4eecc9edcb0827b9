// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/dense_blocks.hpp"
#include "pegasos/solver/newton_rows.hpp"
#include "vector_rows.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

// The dual of a slack; `half` is 1 / 2 width.
template <bool squared, class V>
V dual_of(V slack, V cost, double half) {
  if constexpr (squared) return 2.0 * cost * larger(slack, V{});
  return cost * smaller(larger(0.5 + slack * half, V{}), V{} + 1.0);
}

template <bool squared, class V>
V curvature_of(V slack, V cost, double width, double half) {
  if constexpr (squared) return slack > 0.0 ? 2.0 * cost : V{};
  const V size = slack < 0.0 ? -slack : slack;
  return size < width ? cost * half : V{};
}

template <bool squared>
void point_rows(const NewtonRows& rows, const RowBatch& batch, double step, const Widths& widths,
                NewtonSums& sums) {
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
    const V before = first ? V{} : dual_of<squared>(old, c, half_before);
    const V a = dual_of<squared>(slack, c, half);
    store(rows.slack + i, slack);
    // Written so that a NaN is added, not hidden.
    const V lost = squared ? c * slack * slack : c * slack;
    const V loss = slack <= 0.0 ? V{} : lost;
    const V dual = squared ? a - a * a / (4.0 * c) : a;
    losses.add(loss);
    duals.add(dual);
    rounded.add(loss - dual + a * (1.0 - slack));
    balance.add(a * y);
    store(batch.factors + k, y * (a - before));
    store(batch.factors + kBlockRows + k, curvature_of<squared>(slack, c, widths.now, half));
  });
  sums.loss += losses.total();
  sums.dual += duals.total();
  sums.rounded += rounded.total();
  sums.balance += balance.total();
}

template <bool squared>
void line_rows(const NewtonRows& rows, const RowBatch& batch, double step, double width,
               LineSums& sums) {
  Sum slope, curvature;
  const double half = 0.5 / width;
  each(batch.size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const int64_t i = batch.first + k;
    const V c = load<V>(batch.c + k);
    const V change = load<V>(rows.change + i);
    const V slack = load<V>(rows.slack + i) + step * change;
    slope.add(dual_of<squared>(slack, c, half) * change);
    curvature.add(curvature_of<squared>(slack, c, width, half) * change * change);
  });
  sums.slope += slope.total();
  sums.curvature += curvature.total();
}

void point(const NewtonRows& rows, const RowBatch& batch, double step, const Widths& widths,
           NewtonSums& sums) {
  (batch.squared ? point_rows<true> : point_rows<false>)(rows, batch, step, widths, sums);
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
  (batch.squared ? line_rows<true> : line_rows<false>)(rows, batch, step, width, sums);
}

constexpr NewtonKernels kKernels = {&point, &along, &line};

}  // namespace

const NewtonKernels& select_newton() { return kKernels; }

}  // namespace pegasos::PEGASOS_KERNELS
