#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "pegasos/solver/smo.hpp"

namespace binding {
namespace {

using namespace pegasos;

std::tuple<std::string, std::int64_t, std::int64_t, double, std::int64_t> smo_advance(
    const In<double, nb::ndim<1>>& y, const In<double, nb::ndim<1>>& upper,
    const In<double, nb::ndim<1>>& diagonal, const Vector<double>& a, const Vector<double>& slack,
    const Vector<double>& up, const Vector<double>& low, const In<float, nb::ndim<2>>& rows,
    const In<std::int32_t, nb::ndim<1>>& place, const Vector<std::int64_t>& used,
    std::int64_t clock, bool balanced, double tolerance, std::int64_t work) {
  const auto n = static_cast<std::int64_t>(y.shape(0));
  const auto places = static_cast<std::int64_t>(rows.shape(0));
  SmoState state{};
  state.n = n;
  state.y = checked("y", y, {n});
  state.upper = checked("upper", upper, {n});
  state.diagonal = checked("diagonal", diagonal, {n});
  state.a = checked("a", a, {n});
  state.slack = checked("slack", slack, {n});
  state.up = checked("up", up, {n});
  state.low = checked("low", low, {n});
  state.balanced = balanced;
  KernelCache cache{checked("rows", rows, {places, n}), checked("place", place, {n}),
                    checked("used", used, {places}), clock};
  for (std::int64_t i = 0; i < n; ++i) {
    if (cache.place[i] >= places) throw std::invalid_argument("place out of range");
  }
  SmoProgress progress{};
  {
    nb::gil_scoped_release release;
    progress = advance(state, cache, tolerance, work);
  }
  const char* const ends[] = {"work", "converged", "missing"};
  return {ends[static_cast<int>(progress.end)], progress.missing, progress.steps,
          progress.violation, cache.clock};
}

}  // namespace

void bind_smo(nb::module_& m) {
  m.def("smo_advance", &smo_advance, nb::kw_only(), nb::arg("y").noconvert(),
        nb::arg("upper").noconvert(), nb::arg("diagonal").noconvert(), nb::arg("a").noconvert(),
        nb::arg("slack").noconvert(), nb::arg("up").noconvert(), nb::arg("low").noconvert(),
        nb::arg("rows").noconvert(), nb::arg("place").noconvert(), nb::arg("used").noconvert(),
        nb::arg("clock"), nb::arg("balanced"), nb::arg("tolerance"), nb::arg("work"),
        "Steps of SMO: (end, missing row, steps, violation, clock).");
}

}  // namespace binding
