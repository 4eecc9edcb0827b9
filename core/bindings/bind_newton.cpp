#include <nanobind/stl/tuple.h>

#include <tuple>

#include "pegasos/solver/newton.hpp"
#include "problem.hpp"

namespace binding {
namespace {

using namespace pegasos;

// The row variables of one lane, as the rows of a (2, n) array.
class PyNewton {
 public:
  static constexpr std::int64_t arrays = 2;

  PyNewton(nb::object problem, const Matrix<double>& variables)
      : view_(nb::cast<const PyProblem&>(problem).view), owners_{problem, nb::cast(variables)} {
    if (view_.lanes != 1) throw std::invalid_argument("one lane at a time");
    rows_.slack = checked("variables", variables, {arrays, view_.n()});
    rows_.change = rows_.slack + view_.n();
  }

  auto point(std::int64_t lo, std::int64_t hi, std::int64_t every, double step, double before,
             double width, double constant, const Matrix<double>& sums) const {
    const Span span = checked_span(view_, lo, hi, every);
    if (!(width > 0.0)) throw std::invalid_argument("width must be positive");
    const std::int64_t size = view_.rows.weight_rows();
    double* out = checked("sums", sums, {size + 1, size});
    nb::gil_scoped_release release;
    const NewtonSums s = newton_point(view_, rows_, span, step, {before, width}, constant, out);
    return std::tuple(s.loss, s.dual, s.rounded, s.balance);
  }

  void along(std::int64_t lo, std::int64_t hi, std::int64_t every, const Vector<double>& dw,
             double db) const {
    const Span span = checked_span(view_, lo, hi, every);
    const double* weights = checked("dw", dw, {view_.rows.weight_rows()});
    nb::gil_scoped_release release;
    newton_along(view_, rows_, span, weights, db);
  }

  auto line(std::int64_t lo, std::int64_t hi, std::int64_t every, double step, double width) const {
    const Span span = checked_span(view_, lo, hi, every);
    if (!(width > 0.0)) throw std::invalid_argument("width must be positive");
    nb::gil_scoped_release release;
    const LineSums sums = newton_line(view_, rows_, span, step, width);
    return std::tuple(sums.slope, sums.curvature);
  }

 private:
  ProblemView view_;
  NewtonRows rows_{};
  nb::object owners_[2];
};

}  // namespace

void bind_newton(nb::module_& m) {
  nb::class_<PyNewton>(m, "Newton", "The passes over the rows of Newton's method.")
      .def(nb::init<nb::object, const Matrix<double>&>(), nb::arg("problem"),
           nb::arg("variables").noconvert())
      .def_ro_static("ARRAYS", &PyNewton::arrays)
      .def("point", &PyNewton::point, nb::arg("lo"), nb::arg("hi"), nb::arg("every"),
           nb::arg("step"), nb::arg("before"), nb::arg("width"), nb::arg("constant"),
           nb::arg("sums").noconvert(),
           "Step, add to (matrix, sum a y x); (loss, dual, what rounding leaves, sum a y).")
      .def("along", &PyNewton::along, nb::arg("lo"), nb::arg("hi"), nb::arg("every"),
           nb::arg("dw").noconvert(), nb::arg("db"), "The change of the slacks along a direction.")
      .def("line", &PyNewton::line, nb::arg("lo"), nb::arg("hi"), nb::arg("every"), nb::arg("step"),
           nb::arg("width"), "(slope, curvature) of the loss so far along the direction.");
}

}  // namespace binding
