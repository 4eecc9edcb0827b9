#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "pegasos/cholesky.hpp"

namespace binding {
namespace {

using namespace pegasos;

bool factor(const In<double, nb::ndim<2>>& matrix, double penalty, double last, double lift,
            std::int64_t threads, const Vector<double>& out) {
  const auto size = static_cast<std::int64_t>(matrix.shape(0));
  if (size < 1 || threads < 1) throw std::invalid_argument("size and threads must be positive");
  const double* entries = checked("matrix", matrix, {size, size});
  double* to = checked("factor", out, {factor_size(size)});
  nb::gil_scoped_release release;
  return cholesky({entries, size, penalty, last, lift}, threads, to);
}

void solve(const In<double, nb::ndim<1>>& factor, const In<double, nb::ndim<1>>& rhs,
           const Vector<double>& out) {
  const auto size = static_cast<std::int64_t>(rhs.shape(0));
  const double* entries = checked("factor", factor, {factor_size(size)});
  double* to = checked("out", out, {size});
  std::vector<double> x(static_cast<std::size_t>(padded(size)));
  std::copy_n(rhs.data(), size, x.data());
  cholesky_solve(size, entries, x.data());
  std::copy_n(x.data(), size, to);
}

}  // namespace

void bind_cholesky(nb::module_& m) {
  m.def("factor_size", &factor_size, nb::arg("size"), "Values of the factor of so many rows.");
  m.def(
      "cholesky", &factor, nb::arg("matrix").noconvert(), nb::arg("penalty"), nb::arg("last"),
      nb::arg("lift"), nb::arg("threads"), nb::arg("factor").noconvert(),
      "Factor the matrix (its upper triangle) with more on its diagonal; False if there is none.");
  m.def("cholesky_solve", &solve, nb::arg("factor").noconvert(), nb::arg("rhs").noconvert(),
        nb::arg("out").noconvert(), "Solve by a factor.");
}

}  // namespace binding
