#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "pegasos/mercer.hpp"

namespace binding {
namespace {

using namespace pegasos;
using std::int64_t;

MercerKind kind_of(const std::string& name) {
  const char* const names[] = {"linear", "rbf", "poly", "sigmoid"};
  for (int k = 0; k < 4; ++k) {
    if (name == names[k]) return static_cast<MercerKind>(k);
  }
  throw std::invalid_argument("no kernel is called " + name);
}

template <class T>
void values(const Mercer& kernel, const Matrix<T>& tile, const In<T, nb::ndim<1>>& left,
            const In<T, nb::ndim<1>>& right, int64_t threads) {
  const auto rows = static_cast<int64_t>(tile.shape(0));
  const auto columns = static_cast<int64_t>(tile.shape(1));
  const MercerTile<T> view{tile.data(),
                           rows,
                           columns,
                           columns,
                           checked("left", left, {rows}),
                           checked("right", right, {columns})};
  nb::gil_scoped_release release;
  mercer_values(kernel, view, threads);
}

// CSR rows whose columns have been checked; kept as references to arrays of the caller's.
template <class T>
struct CsrRows {
  In<T, nb::ndim<1>> values;
  In<std::int32_t, nb::ndim<1>> columns;
  In<int64_t, nb::ndim<1>> begins;
  In<T, nb::ndim<1>> norms;
  int64_t d;

  MercerRows<T> view() const {
    const auto n = static_cast<int64_t>(norms.shape(0));
    const auto stored = static_cast<int64_t>(values.shape(0));
    const int64_t* const ends = checked("begins", begins, {n + 1});
    if (ends[0] != 0 || ends[n] != stored) throw std::invalid_argument("begins do not fit values");
    return {n, d, values.data(), checked("columns", columns, {stored}), ends, norms.data()};
  }
};

template <class T>
MercerBlock<T> block_of(const In<T, nb::ndim<2>>& block, const In<T, nb::ndim<1>>& norms,
                        int64_t used, int64_t d) {
  const auto lanes = static_cast<int64_t>(block.shape(1));
  if (lanes % kMercerLanes != 0 || used < 0 || used > lanes) {
    throw std::invalid_argument("lanes must be a multiple of 16, and all that are used");
  }
  return {lanes, used, checked("block", block, {d, lanes}), checked("norms", norms, {lanes})};
}

void rows(const Mercer& kernel, const CsrRows<float>& csr, const In<float, nb::ndim<2>>& block,
          const In<float, nb::ndim<1>>& norms, const In<int64_t, nb::ndim<1>>& place,
          const Matrix<float>& out, int64_t threads) {
  const MercerRows<float> view = csr.view();
  const auto used = static_cast<int64_t>(place.shape(0));
  const auto places = static_cast<int64_t>(out.shape(0));
  float* const to = checked("out", out, {places, view.n});
  for (int64_t lane = 0; lane < used; ++lane) {
    if (place.data()[lane] < 0 || place.data()[lane] >= places) {
      throw std::invalid_argument("place out of range");
    }
  }
  const MercerBlock<float> others = block_of(block, norms, used, view.d);
  nb::gil_scoped_release release;
  mercer_rows(kernel, view, others, place.data(), to, threads);
}

void scores(const Mercer& kernel, const CsrRows<double>& csr, const In<double, nb::ndim<2>>& block,
            const In<double, nb::ndim<1>>& norms, const In<double, nb::ndim<2>>& coef,
            const Matrix<double>& out, int64_t threads) {
  const MercerRows<double> view = csr.view();
  const auto used = static_cast<int64_t>(coef.shape(0));
  const auto outputs = static_cast<int64_t>(coef.shape(1));
  double* const to = checked("out", out, {view.n, outputs});
  const MercerBlock<double> others = block_of(block, norms, used, view.d);
  nb::gil_scoped_release release;
  mercer_scores(kernel, view, others, coef.data(), outputs, to, threads);
}

template <class T>
void bind_csr(nb::module_& m, const char* name) {
  nb::class_<CsrRows<T>>(m, name, "Sparse rows that a kernel meets; columns must be in range.")
      .def(
          "__init__",
          [](CsrRows<T>* self, const In<T, nb::ndim<1>>& values,
             const In<std::int32_t, nb::ndim<1>>& columns, const In<int64_t, nb::ndim<1>>& begins,
             const In<T, nb::ndim<1>>& norms, int64_t d) {
            const CsrRows<T> made{values, columns, begins, norms, d};
            made.view();
            new (self) CsrRows<T>(made);
          },
          nb::arg("values").noconvert(), nb::arg("columns").noconvert(),
          nb::arg("begins").noconvert(), nb::arg("norms").noconvert(), nb::arg("d"));
}

}  // namespace

void bind_mercer(nb::module_& m) {
  bind_csr<float>(m, "MercerRows32");
  bind_csr<double>(m, "MercerRows64");
  nb::class_<Mercer>(m, "Mercer", "A kernel by name: linear, rbf, poly, sigmoid.")
      .def(
          "__init__",
          [](Mercer* self, const std::string& name, double gamma, double degree, double coef0) {
            new (self) Mercer{kind_of(name), gamma, degree, coef0};
          },
          nb::arg("name"), nb::arg("gamma"), nb::arg("degree"), nb::arg("coef0"))
      .def("values", &values<float>, nb::arg("tile").noconvert(), nb::arg("left").noconvert(),
           nb::arg("right").noconvert(), nb::arg("threads"),
           "K in place of products of rows with squared norms `left` and `right`.")
      .def("values", &values<double>, nb::arg("tile").noconvert(), nb::arg("left").noconvert(),
           nb::arg("right").noconvert(), nb::arg("threads"))
      .def("rows", &rows, nb::arg("csr"), nb::arg("block").noconvert(),
           nb::arg("norms").noconvert(), nb::arg("place").noconvert(), nb::arg("out").noconvert(),
           nb::arg("threads"),
           "Rows of K, of the first lanes of `block` (d, lanes), to their places in `out`.")
      .def("scores", &scores, nb::arg("csr"), nb::arg("block").noconvert(),
           nb::arg("norms").noconvert(), nb::arg("coef").noconvert(), nb::arg("out").noconvert(),
           nb::arg("threads"), "out += K(rows, block) coef.");
}

}  // namespace binding
