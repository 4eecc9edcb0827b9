// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/solver/dual_span.hpp"
#include "vector_rows.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

double change(int64_t size, const double* at, double* before) {
  Sum sum;
  each(size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const V by = load<V>(at + k) - load<V>(before + k);
    store(before + k, by);
    sum.add(by);
  });
  return sum.total();
}

// The first of `all` is what was before, and becomes the change, if it is `fresh`.
template <int count, bool fresh>
void products_of(int64_t size, const double* at, double* const* all, SpanProducts& out) {
  Sum gram[count][count];
  Sum with_w[count];
  Sum w_square;
  each(size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const V w = load<V>(at + k);
    w_square.add(w * w);
    V x[count];
    for (int i = 0; i < count; ++i) x[i] = load<V>(all[i] + k);
    if constexpr (fresh) {
      x[0] = w - x[0];
      store(all[0] + k, x[0]);
    }
    for (int i = 0; i < count; ++i) {
      with_w[i].add(w * x[i]);
      for (int j = 0; j <= i; ++j) gram[i][j].add(x[i] * x[j]);
    }
  });
  out.w_square = w_square.total();
  for (int i = 0; i < count; ++i) {
    out.with_w[i] = with_w[i].total();
    for (int j = 0; j <= i; ++j) out.gram[i][j] = out.gram[j][i] = gram[i][j].total();
  }
}

template <bool fresh>
void products(int64_t size, const double* w, double* const* all, int count, SpanProducts& out) {
  (count == 1   ? products_of<1, fresh>
   : count == 2 ? products_of<2, fresh>
                : products_of<3, fresh>)(size, w, all, out);
}

void combine(int64_t size, const double* const* all, const double* by, double* out) {
  each(size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    store(out + k,
          by[0] * load<V>(all[0] + k) + by[1] * load<V>(all[1] + k) + by[2] * load<V>(all[2] + k));
  });
}

void along(int64_t size, const double* at, const double* step, double* slope, double* square) {
  Sum first, second;
  each(size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const V by = load<V>(step + k);
    first.add(by * load<V>(at + k));
    second.add(by * by);
  });
  *slope = first.total();
  *square = second.total();
}

void take(int64_t size, double* at, double* change, double* step) {
  each(size, [&](auto kind, int64_t k) {
    using V = decltype(kind);
    const V by = load<V>(step + k);
    const V to = load<V>(at + k) + by;
    store(change + k, load<V>(change + k) + by);
    store(at + k, to);
    store(step + k, to);
  });
}

constexpr SpanKernels kKernels = {&change,  &products<true>, &products<false>,
                                  &combine, &along,          &take};

}  // namespace

const SpanKernels& select_span() { return kKernels; }

}  // namespace pegasos::PEGASOS_KERNELS
