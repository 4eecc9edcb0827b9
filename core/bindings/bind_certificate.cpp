#include <nanobind/stl/optional.h>

#include "pegasos/certificate.hpp"
#include "pegasos/parallel.hpp"
#include "problem.hpp"

namespace binding {
namespace {

using namespace pegasos;

constexpr std::int64_t kColumns = sizeof(GapSums) / sizeof(double);

void add(const PyProblem& problem, std::int64_t lo, std::int64_t hi,
         const In<double, nb::ndim<2>>& W, const In<double, nb::ndim<1>>& b,
         const In<double, nb::ndim<2>>& duals, const Out<double, nb::ndim<2>>& sums,
         const Out<double, nb::ndim<2>>& U_positive,
         const std::optional<Out<double, nb::ndim<2>>>& U_negative,
         const std::optional<Out<double, nb::ndim<2>>>& products) {
  const ProblemView& view = problem.view;
  if (lo < 0 || hi < lo || hi > view.n()) throw std::invalid_argument("rows out of range");
  const std::int64_t rows = view.rows.weight_rows();
  GapPass pass{};
  pass.lo = lo;
  pass.hi = hi;
  pass.W = checked("W", W, {rows, view.stride()});
  pass.b = checked("b", b, {view.lanes});
  pass.duals = checked("duals", duals, {hi - lo, view.lanes});
  pass.sums = reinterpret_cast<GapSums*>(checked("sums", sums, {view.lanes, kColumns}));
  pass.U_positive = checked("U_positive", U_positive, {rows, view.stride()});
  pass.U_negative = checked_or_null("U_negative", U_negative, {rows, view.stride()});
  pass.products = checked_or_null("products", products, {hi - lo, view.lanes});
  nb::gil_scoped_release release;
  add_gap_sums(view, pass);
}

void intercepts(const PyProblem& problem, const In<double, nb::ndim<2>>& products,
                const Out<double, nb::ndim<1>>& b, const Out<double, nb::ndim<2>>& sums) {
  const ProblemView& view = problem.view;
  const std::int64_t K = view.lanes;
  const double* values = checked("products", products, {view.n(), K});
  double* best = checked("b", b, {K});
  auto* out = reinterpret_cast<GapSums*>(checked("sums", sums, {K, kColumns}));
  nb::gil_scoped_release release;
  const std::int64_t parts = std::min(view.threads, K);
  in_parallel(parts, [&](std::int64_t part) {
    for (std::int64_t k = part; k < K; k += parts) {
      const BestIntercept found = best_intercept(view, k, values + k, K);
      best[k] = found.b;
      out[k].loss = found.loss;
      out[k].slope = found.slope;
      out[k].slope_norm = found.slope_norm;
      out[k].level_slope = found.level_slope;
    }
  });
}

}  // namespace

void bind_certificate(nb::module_& m) {
  m.attr("GAP_SUMS") =
      nb::make_tuple("loss", "dual_positive", "dual_negative", "square_positive", "square_negative",
                     "slope", "slope_norm", "cost_norm", "dual_norm", "support", "blocks",
                     "level_positive", "level_negative", "level_size", "level_slope");
  m.attr("NEAR") = kNear;
  m.def("best_intercepts", &intercepts, nb::arg("problem"), nb::arg("products").noconvert(),
        nb::arg("b").noconvert(), nb::arg("sums").noconvert(),
        "Write the best free intercept of every lane, and those of the sums that depend on it.");
  m.def("add_gap_sums", &add, nb::arg("problem"), nb::arg("lo"), nb::arg("hi"),
        nb::arg("W").noconvert(), nb::arg("b").noconvert(), nb::arg("duals").noconvert(),
        nb::arg("sums").noconvert(), nb::arg("U_positive").noconvert(),
        nb::arg("U_negative").noconvert().none(), nb::arg("products").noconvert().none(),
        "Add the certificate's sums over rows lo..hi-1.");
}

}  // namespace binding
