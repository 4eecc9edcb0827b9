#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "pegasos/check.hpp"
#include "pegasos/row_products.hpp"
#include "problem.hpp"

namespace binding {
namespace {

using namespace pegasos;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

Value value_type(const AnyArray& array) {
  const auto type = array.dtype();
  if (type == nb::dtype<float>()) return Value::f32;
  if (type == nb::dtype<double>()) return Value::f64;
  if (type == nb::dtype<std::int8_t>()) return Value::i8;
  if (type == nb::dtype<std::uint8_t>()) return Value::u8;
  throw std::invalid_argument("values must be float32, float64, int8 or uint8");
}

PyRows dense_rows(const AnyArray& array, double bias) {
  if (array.ndim() != 2 || (array.shape(1) > 1 && array.stride(1) != 1)) {
    throw std::invalid_argument("a dense matrix must have contiguous rows");
  }
  RowsView view;
  view.storage = Storage::dense;
  view.value = value_type(array);
  view.values = array.data();
  view.n = static_cast<std::int64_t>(array.shape(0));
  view.d = static_cast<std::int64_t>(array.shape(1));
  view.row_stride = array.stride(0);
  view.bias = bias;
  return {view, {nb::cast(array)}};
}

PyRows csr_rows(const AnyArray& values, const AnyArray& indices, const AnyArray& indptr,
                std::int64_t d, double bias) {
  for (const AnyArray* array : {&values, &indices, &indptr}) {
    if (array->ndim() != 1 || (array->shape(0) > 1 && array->stride(0) != 1)) {
      throw std::invalid_argument("CSR arrays must be one-dimensional and contiguous");
    }
  }
  const bool narrow = indices.dtype() == nb::dtype<std::int32_t>();
  if (indices.dtype() != indptr.dtype() ||
      !(narrow || indices.dtype() == nb::dtype<std::int64_t>())) {
    throw std::invalid_argument("indices and indptr must both be int32 or both int64");
  }
  if (indptr.shape(0) == 0) throw std::invalid_argument("indptr is empty");
  RowsView view;
  view.storage = Storage::csr;
  view.value = value_type(values);
  view.index = narrow ? Index::i32 : Index::i64;
  view.values = values.data();
  view.indices = indices.data();
  view.indptr = indptr.data();
  view.n = static_cast<std::int64_t>(indptr.shape(0)) - 1;
  view.d = d;
  view.bias = bias;
  const auto stored = static_cast<std::int64_t>(std::min(values.shape(0), indices.shape(0)));
  const Finding finding = check_indptr(view, stored);
  if (finding.defect != Defect::none) {
    throw std::invalid_argument("indptr of row " + std::to_string(finding.row) +
                                " decreases or points outside the stored values");
  }
  return {view, {nb::cast(values), nb::cast(indices), nb::cast(indptr)}};
}

const char* defect_name(Defect defect) {
  switch (defect) {
    case Defect::none:
      return "";
    case Defect::indptr:
      return "indptr";
    case Defect::column_range:
      return "column_range";
    case Defect::column_order:
      return "column_order";
    case Defect::not_finite:
      return "not_finite";
    case Defect::norm_overflow:
      break;
  }
  return "norm_overflow";
}

std::tuple<std::string, std::int64_t, std::int64_t> check(const PyRows& self, std::int64_t lo,
                                                          std::int64_t hi,
                                                          const Out<double, nb::ndim<1>>& norms,
                                                          std::int64_t threads) {
  if (lo < 0 || hi < lo || hi > self.rows.n()) throw std::invalid_argument("rows out of range");
  double* out = checked("squared_norms", norms, {self.rows.n()});
  nb::gil_scoped_release release;
  const Finding finding = check_rows(self.rows, lo, hi, out, threads);
  return {defect_name(finding.defect), finding.row, finding.column};
}

using Floats = In<double, nb::ndim<1>>;
// Of rows x lanes, with any strides.
template <class... V>
using Strided = nb::ndarray<V..., nb::ndim<2>, nb::device::cpu>;
using AnyTargets = Strided<nb::ro>;

Loss loss_named(const std::string& wanted) {
  for (const auto& [loss, name] : kLosses) {
    if (wanted == name) return loss;
  }
  throw std::invalid_argument("unknown loss " + wanted);
}

Targets checked_targets(const AnyTargets& array, std::int64_t n, std::int64_t lanes) {
  Targets targets{.row_stride = array.stride(0), .lane_stride = array.stride(1)};
  const void* values = checked("targets", array, {n, lanes});
  if (array.dtype() == nb::dtype<double>()) {
    targets.wide = static_cast<const double*>(values);
  } else if (array.dtype() == nb::dtype<float>()) {
    targets.narrow = static_cast<const float*>(values);
  } else {
    throw std::invalid_argument("targets must be float32 or float64");
  }
  return targets;
}

PyProblem make_problem(const PyRows& rows, const Strided<const std::int8_t>& labels,
                       const std::optional<Strided<const double>>& weight, const Floats& positive,
                       const Floats& negative, const Floats& s, const Floats& lam,
                       const Floats& squared_norms, const std::string& loss, std::int64_t threads,
                       const std::optional<AnyTargets>& targets, const std::optional<Floats>& unit,
                       const std::optional<Strided<const std::int8_t>>& members,
                       const std::optional<Floats>& balance) {
  const std::int64_t n = rows.rows.n();
  const auto lanes = static_cast<std::int64_t>(labels.shape(1));
  if (threads < 1) throw std::invalid_argument("threads must be positive");
  if (lanes < 1) throw std::invalid_argument("labels has no lane");
  ProblemView view{.rows = rows.rows};
  view.loss = loss_named(loss);
  view.threads = threads;
  view.lanes = lanes;
  view.sides.labels = checked("labels", labels, {n, lanes});
  view.sides.row_stride = labels.stride(0);
  view.sides.lane_stride = labels.stride(1);
  view.positive = checked("positive", positive, {lanes});
  view.negative = checked("negative", negative, {lanes});
  view.s = checked("s", s, {lanes});
  view.lam = checked("lam", lam, {lanes});
  view.squared_norms = checked("squared_norms", squared_norms, {n});
  view.unit = checked_or_null("unit", unit, {lanes});
  view.balance = checked_or_null("balance", balance, {lanes});
  if (weight) {
    view.weight = checked("weight", *weight, {n, lanes});
    view.weight_row_stride = weight->stride(0);
    view.weight_lane_stride = weight->stride(1);
  }
  if (targets) view.targets = checked_targets(*targets, n, lanes);
  if (members) {
    view.sides.members = checked("members", *members, {n, lanes});
    view.sides.member_row_stride = members->stride(0);
    view.sides.member_lane_stride = members->stride(1);
  }
  std::vector<nb::object> owners;
  const auto own = [&](const auto&... arrays) { (owners.push_back(nb::cast(arrays)), ...); };
  own(labels, weight, positive, negative, s, lam, squared_norms, targets, unit, members, balance);
  return {view, std::move(owners)};
}

std::int64_t products(const PyRows& self, const In<double, nb::ndim<2>>& W,
                      const Matrix<double>& out, std::int64_t threads) {
  const auto lanes = static_cast<std::int64_t>(out.shape(1));
  if (lanes < 1 || threads < 1) throw std::invalid_argument("lanes or threads out of range");
  const double* weights = checked("W", W, {self.rows.weight_rows(), padded_lanes(lanes)});
  double* scores = checked("out", out, {self.rows.n(), lanes});
  nb::gil_scoped_release release;
  return row_products(self.rows, weights, lanes, scores, threads);
}

constexpr InstructionSet kInstructionSets[] = {InstructionSet::baseline, InstructionSet::x86_64_v2,
                                               InstructionSet::x86_64_v3,
                                               InstructionSet::x86_64_v4};

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (auto set : kInstructionSets) {
    if (available(set)) names.emplace_back(name(set));
  }
  return names;
}

void use_by_name(const std::string& wanted) {
  for (auto set : kInstructionSets) {
    if (wanted == name(set)) return use_instruction_set(set);
  }
  throw std::invalid_argument("unknown instruction set " + wanted);
}

}  // namespace

void bind_rows(nb::module_& m) {
  m.def(
      "instruction_set", [] { return std::string(name(instruction_set())); },
      "The instruction set the row kernels run on.");
  m.def("instruction_sets", &instruction_sets, "Those this build and processor can run.");
  m.def("use_instruction_set", &use_by_name, nb::arg("name"),
        "Choose the instruction set of rows made from now on.");
  m.def("padded_lanes", &padded_lanes, nb::arg("lanes"), "Columns of a weight matrix for K lanes.");

  nb::class_<PyRows>(m, "Rows", "A read-only view of the examples; the arrays are used in place.")
      .def_static("dense", &dense_rows, nb::arg("array").noconvert(), nb::arg("bias"))
      .def_static("csr", &csr_rows, nb::arg("values").noconvert(), nb::arg("indices").noconvert(),
                  nb::arg("indptr").noconvert(), nb::arg("d"), nb::arg("bias"))
      .def_prop_ro("n", [](const PyRows& self) { return self.rows.n(); })
      .def_prop_ro("d", [](const PyRows& self) { return self.rows.d(); })
      .def_prop_ro("bias", [](const PyRows& self) { return self.rows.bias(); })
      .def("check", &check, nb::arg("lo"), nb::arg("hi"), nb::arg("squared_norms").noconvert(),
           nb::arg("threads"),
           "Check rows lo..hi-1 and write their squared norms: (defect or '', row, column).")
      .def("products", &products, nb::arg("W").noconvert(), nb::arg("out").noconvert(),
           nb::arg("threads"),
           "Write w_k . x of all rows; returns a row with a column out of range, or -1.");

  nb::class_<PyProblem>(m, "Problem", "K binary problems over the same rows.")
      .def(
          "__init__",
          [](PyProblem* self, const PyRows& rows, const Strided<const std::int8_t>& labels,
             const std::optional<Strided<const double>>& weight, const Floats& positive,
             const Floats& negative, const Floats& s, const Floats& lam,
             const Floats& squared_norms, const std::string& loss, std::int64_t threads,
             const std::optional<AnyTargets>& targets, const std::optional<Floats>& unit,
             const std::optional<Strided<const std::int8_t>>& members,
             const std::optional<Floats>& balance) {
            new (self) PyProblem(make_problem(rows, labels, weight, positive, negative, s, lam,
                                              squared_norms, loss, threads, targets, unit, members,
                                              balance));
          },
          nb::keep_alive<1, 2>(), nb::arg("rows"), nb::kw_only(), nb::arg("labels").noconvert(),
          nb::arg("weight").noconvert().none(), nb::arg("positive").noconvert(),
          nb::arg("negative").noconvert(), nb::arg("s").noconvert(), nb::arg("lam").noconvert(),
          nb::arg("squared_norms").noconvert(), nb::arg("loss"), nb::arg("threads"),
          nb::arg("targets").noconvert() = nb::none(), nb::arg("unit").noconvert() = nb::none(),
          nb::arg("members").noconvert() = nb::none(), nb::arg("balance").noconvert() = nb::none());
}

}  // namespace binding
