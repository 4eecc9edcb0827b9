#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "pegasos/solver/interior.hpp"
#include "problem.hpp"

namespace binding {
namespace {

using namespace pegasos;

using Vector = Out<double, nb::ndim<1>>;
using Matrix = Out<double, nb::ndim<2>>;

// The row variables of one lane, as the rows of an (11, n) array.
class PyInterior {
 public:
  PyInterior(nb::object problem, const Matrix& variables)
      : view_(nb::cast<const PyProblem&>(problem).view), owners_{problem, nb::cast(variables)} {
    if (view_.lanes != 1) throw std::invalid_argument("one lane at a time");
    double* first = checked("variables", variables, {11, view_.n()});
    double** fields[] = {&rows_.a,  &rows_.v,  &rows_.r,  &rows_.xi, &rows_.rp, &rows_.scale,
                         &rows_.ra, &rows_.rv, &rows_.da, &rows_.dr, &rows_.dxi};
    for (double** field : fields) {
      *field = first;
      first += view_.n();
    }
  }

  std::tuple<double, double, double, double> residuals(std::int64_t lo, std::int64_t hi,
                                                       const Vector& w, double b,
                                                       const Vector& u) const {
    check(lo, hi);
    const double* weights = weight_vector("w", w);
    double* out = weight_vector("u", u);
    nb::gil_scoped_release release;
    const InteriorSums sums = interior_residuals(view_, lo, hi, weights, b, rows_, out);
    return {sums.complementarity, sums.loss, sums.dual, sums.balance};
  }

  double targets(std::int64_t lo, std::int64_t hi, const std::string& target, double mu,
                 double primal_step, double dual_step, const Vector& rhs) const {
    check(lo, hi);
    const Aim aim{target_of(target), mu, primal_step, dual_step};
    double* out = weight_vector("rhs", rhs);
    nb::gil_scoped_release release;
    return interior_targets(view_, lo, hi, aim, rows_, out);
  }

  std::tuple<double, double> direction(std::int64_t lo, std::int64_t hi, const Vector& dw,
                                       double db) const {
    check(lo, hi);
    const double* weights = weight_vector("dw", dw);
    nb::gil_scoped_release release;
    const StepLengths step = interior_direction(view_, lo, hi, weights, db, rows_);
    return {step.primal, step.dual};
  }

  double complementarity(std::int64_t lo, std::int64_t hi, double primal, double dual) const {
    check(lo, hi);
    nb::gil_scoped_release release;
    return interior_complementarity(view_, lo, hi, {primal, dual}, rows_);
  }

  void step(std::int64_t lo, std::int64_t hi, double primal, double dual) const {
    check(lo, hi);
    nb::gil_scoped_release release;
    interior_step(view_, lo, hi, {primal, dual}, rows_);
  }

  void gram(std::int64_t lo, std::int64_t hi, const Matrix& out, const Vector& border) const {
    check(lo, hi);
    const std::int64_t d = view_.rows.d();
    double* matrix = checked("gram", out, {d, d});
    double* vector = weight_vector("border", border);
    nb::gil_scoped_release release;
    interior_gram(view_, lo, hi, rows_.scale, matrix, vector);
  }

 private:
  void check(std::int64_t lo, std::int64_t hi) const {
    if (lo < 0 || hi < lo || hi > view_.n()) throw std::invalid_argument("rows out of range");
  }
  double* weight_vector(const char* name, const Vector& array) const {
    return checked(name, array, {view_.rows.weight_rows()});
  }
  static Target target_of(const std::string& name) {
    if (name == "affine") return Target::affine;
    if (name == "centred") return Target::centred;
    if (name == "corrected") return Target::corrected;
    throw std::invalid_argument("unknown target " + name);
  }

  ProblemView view_;
  InteriorRows rows_{};
  nb::object owners_[2];
};

}  // namespace

void bind_interior(nb::module_& m) {
  nb::class_<PyInterior>(m, "Interior", "The interior point method's passes over the rows.")
      .def(nb::init<nb::object, const Matrix&>(), nb::arg("problem"),
           nb::arg("variables").noconvert())
      .def("residuals", &PyInterior::residuals, nb::arg("lo"), nb::arg("hi"),
           nb::arg("w").noconvert(), nb::arg("b"), nb::arg("u").noconvert(),
           "Fill residuals; (sum a r + v xi, loss, sum a, sum a y).")
      .def("targets", &PyInterior::targets, nb::arg("lo"), nb::arg("hi"), nb::arg("target"),
           nb::arg("mu"), nb::arg("primal_step"), nb::arg("dual_step"), nb::arg("rhs").noconvert(),
           "Set the targets, add to rhs; the sum of t.")
      .def("direction", &PyInterior::direction, nb::arg("lo"), nb::arg("hi"),
           nb::arg("dw").noconvert(), nb::arg("db"), "The direction; (primal, dual) steps.")
      .def("complementarity", &PyInterior::complementarity, nb::arg("lo"), nb::arg("hi"),
           nb::arg("primal_step"), nb::arg("dual_step"), "Sum a r + v xi after a step.")
      .def("step", &PyInterior::step, nb::arg("lo"), nb::arg("hi"), nb::arg("primal_step"),
           nb::arg("dual_step"), "Take the step.")
      .def("gram", &PyInterior::gram, nb::arg("lo"), nb::arg("hi"), nb::arg("gram").noconvert(),
           nb::arg("border").noconvert(), "Add to the Gram matrix's upper triangle.");
}

}  // namespace binding
