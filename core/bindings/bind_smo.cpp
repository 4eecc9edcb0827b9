#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "pegasos/solver/smo.hpp"

namespace binding {
namespace {

using namespace pegasos;

std::tuple<std::string, std::int64_t, double, double, double, std::int64_t> smo_advance(
    const In<double, nb::ndim<1>>& y, const In<double, nb::ndim<1>>& upper,
    const In<float, nb::ndim<1>>& diagonal, const Vector<double>& a, const Vector<double>& slack,
    const Vector<std::uint8_t>& marks, const In<float, nb::ndim<2>>& rows,
    const In<std::int32_t, nb::ndim<1>>& place, const Vector<std::int64_t>& used,
    std::int64_t clock, bool balanced, double tolerance, double share, std::int64_t steps,
    std::int64_t threads) {
  const auto n = static_cast<std::int64_t>(y.shape(0));
  const auto places = static_cast<std::int64_t>(rows.shape(0));
  SmoState state{};
  state.n = n;
  state.y = checked("y", y, {n});
  state.upper = checked("upper", upper, {n});
  state.diagonal = checked("diagonal", diagonal, {n});
  state.a = checked("a", a, {n});
  state.slack = checked("slack", slack, {n});
  state.marks = checked("marks", marks, {n});
  state.balanced = balanced;
  KernelCache cache{checked("rows", rows, {places, n}), checked("place", place, {n}),
                    checked("used", used, {places}), clock};
  for (std::int64_t i = 0; i < n; ++i) {
    const bool here = (state.marks[i] & kHere) != 0;
    if (cache.place[i] >= places || (here && cache.place[i] < 0)) {
      throw std::invalid_argument("place out of range");
    }
  }
  SmoProgress progress{};
  {
    nb::gil_scoped_release release;
    progress = advance(state, cache, {tolerance, share, steps, threads});
  }
  const char* const ends[] = {"work", "converged", "missing"};
  return {ends[static_cast<int>(progress.end)],
          progress.steps,
          progress.violation,
          progress.gain,
          progress.flattest,
          cache.clock};
}

}  // namespace

void bind_smo(nb::module_& m) {
  m.def("smo_advance", &smo_advance, nb::kw_only(), nb::arg("y").noconvert(),
        nb::arg("upper").noconvert(), nb::arg("diagonal").noconvert(), nb::arg("a").noconvert(),
        nb::arg("slack").noconvert(), nb::arg("marks").noconvert(), nb::arg("rows").noconvert(),
        nb::arg("place").noconvert(), nb::arg("used").noconvert(), nb::arg("clock"),
        nb::arg("balanced"), nb::arg("tolerance"), nb::arg("share"), nb::arg("steps"),
        nb::arg("threads"), "Steps of SMO: (end, steps, violation, gain, flattest, clock).");
  m.attr("SMO_RISES") = kRises;
  m.attr("SMO_FALLS") = kFalls;
  m.attr("SMO_HERE") = kHere;
}

}  // namespace binding
