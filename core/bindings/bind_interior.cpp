#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>

#include "pegasos/solver/interior.hpp"
#include "problem.hpp"

namespace binding {
namespace {

using namespace pegasos;

// The row variables of one lane, as the rows of a (12, n) array.
class PyInterior {
 public:
  static constexpr std::int64_t arrays = 12;

  PyInterior(nb::object problem, const Matrix<double>& variables, double share)
      : view_(nb::cast<const PyProblem&>(problem).view), owners_{problem, nb::cast(variables)} {
    if (view_.lanes != 1) throw std::invalid_argument("one lane at a time");
    double* first = checked("variables", variables, {arrays, view_.n()});
    double** fields[] = {&rows_.a,      &rows_.v,        &rows_.r,        &rows_.xi,
                         &rows_.g,      &rows_.scale,    &rows_.now.ra,   &rows_.now.rv,
                         &rows_.now.da, &rows_.other.ra, &rows_.other.rv, &rows_.other.da};
    for (double** field : fields) {
      *field = first;
      first += view_.n();
    }
    rows_.share = share;
  }

  auto point(std::int64_t lo, std::int64_t hi, double step, const Vector<double>& w, double b,
             const Matrix<double>& vectors) const {
    const Span span = checked_span(view_, lo, hi);
    const double* weights = weight_vector("w", w);
    double* out = checked("vectors", vectors, {3, view_.rows.weight_rows()});
    nb::gil_scoped_release release;
    const PointSums sums = interior_point(view_, rows_, span, step, weights, b, out);
    return std::tuple(sums.complementarity, sums.loss, sums.dual, sums.balance, sums.scale,
                      sums.affine, sums.centre);
  }

  auto affine(std::int64_t lo, std::int64_t hi, const Vector<double>& dw, double db,
              const Vector<double>& second) const {
    const Span span = checked_span(view_, lo, hi);
    const double* weights = weight_vector("dw", dw);
    double* out = weight_vector("second", second);
    nb::gil_scoped_release release;
    const AffineSums sums = interior_affine(view_, rows_, span, weights, db, out);
    return std::tuple(sums.steps.primal, sums.steps.dual, sums.primal, sums.dual, sums.both,
                      sums.second);
  }

  auto direction(std::int64_t lo, std::int64_t hi, bool other, double mu, const Vector<double>& dw,
                 double db) const {
    const Span span = checked_span(view_, lo, hi);
    const double* weights = weight_vector("dw", dw);
    nb::gil_scoped_release release;
    const StepLengths steps =
        interior_direction(view_, rows_, span, other ? rows_.other : rows_.now, mu, weights, db);
    return std::tuple(steps.primal, steps.dual);
  }

  double correct(std::int64_t lo, std::int64_t hi, double mu, double primal, double dual,
                 const Vector<double>& rhs) const {
    const Span span = checked_span(view_, lo, hi);
    double* out = weight_vector("rhs", rhs);
    nb::gil_scoped_release release;
    return interior_correct(view_, rows_, span, mu, {primal, dual}, out);
  }

  void trial(std::int64_t lo, std::int64_t hi, const Vector<double>& factors,
             const Vector<double>& sums) const {
    check_bounded();
    const Span span = checked_span(view_, lo, hi);
    const auto count = static_cast<std::int64_t>(factors.shape(0));
    double* out = checked("sums", sums, {count + 2});
    nb::gil_scoped_release release;
    interior_trial(view_, rows_, span, factors.data(), count, out);
  }

  void slacken(std::int64_t lo, std::int64_t hi, double slack) const {
    check_bounded();
    const Span span = checked_span(view_, lo, hi);
    nb::gil_scoped_release release;
    interior_slacken(view_, rows_, span, slack);
  }

  void gram(std::int64_t lo, std::int64_t hi, double constant, double light, double thin,
            const Matrix<double>& matrix) const {
    const Span span = checked_span(view_, lo, hi);
    const std::int64_t size = view_.rows.weight_rows();
    double* out = checked("matrix", matrix, {size, size});
    nb::gil_scoped_release release;
    interior_gram(view_, rows_, span, constant, {light, thin}, out);
  }

  void swap() { std::swap(rows_.now, rows_.other); }

 private:
  // Others have no slack of their own.
  void check_bounded() const {
    if (!with_loss(view_.loss, [](auto loss) { return loss.bounded; })) {
      throw std::invalid_argument("only rows of a loss that bounds its duals");
    }
  }
  double* weight_vector(const char* name, const Vector<double>& array) const {
    return checked(name, array, {view_.rows.weight_rows()});
  }

  ProblemView view_;
  InteriorRows rows_{};
  nb::object owners_[2];
};

}  // namespace

void bind_interior(nb::module_& m) {
  nb::class_<PyInterior>(m, "Interior", "The interior point method's passes over the rows.")
      .def(nb::init<nb::object, const Matrix<double>&, double>(), nb::arg("problem"),
           nb::arg("variables").noconvert(), nb::arg("share"))
      .def_ro_static("ARRAYS", &PyInterior::arrays)
      .def("point", &PyInterior::point, nb::arg("lo"), nb::arg("hi"), nb::arg("step"),
           nb::arg("w").noconvert(), nb::arg("b"), nb::arg("vectors").noconvert(),
           "Step; (sum a r + v xi, loss, dual, sum a y, sum D, affine, centre).")
      .def("affine", &PyInterior::affine, nb::arg("lo"), nb::arg("hi"), nb::arg("dw").noconvert(),
           nb::arg("db"), nb::arg("second").noconvert(),
           "Targets; (primal step, dual step, three parts of complementarity, second).")
      .def("direction", &PyInterior::direction, nb::arg("lo"), nb::arg("hi"), nb::arg("other"),
           nb::arg("mu"), nb::arg("dw").noconvert(), nb::arg("db"),
           "Add mu to the targets and find the direction; (primal, dual) steps.")
      .def("correct", &PyInterior::correct, nb::arg("lo"), nb::arg("hi"), nb::arg("mu"),
           nb::arg("primal_step"), nb::arg("dual_step"), nb::arg("rhs").noconvert(),
           "Set the other targets, add to rhs; the sum of t.")
      .def("trial", &PyInterior::trial, nb::arg("lo"), nb::arg("hi"),
           nb::arg("factors").noconvert(), nb::arg("sums").noconvert(),
           "Add the losses at factors of the direction in hand, and how margins change, by class.")
      .def("slacken", &PyInterior::slacken, nb::arg("lo"), nb::arg("hi"), nb::arg("slack"),
           "Raise the slacks of all rows.")
      .def("gram", &PyInterior::gram, nb::arg("lo"), nb::arg("hi"), nb::arg("constant"),
           nb::arg("light"), nb::arg("thin"), nb::arg("matrix").noconvert(),
           "Add to the Gram matrix's upper triangle.")
      .def("swap", &PyInterior::swap, "The other direction becomes the one in hand.");
}

}  // namespace binding
