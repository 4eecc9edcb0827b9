#include "pegasos/solver/crammer_singer.hpp"
#include "problem.hpp"

namespace binding {
namespace {

using namespace pegasos;

bool crammer_singer_advance(const PyProblem& problem, std::uint64_t seed, const Matrix<double>& W,
                            const Matrix<double>& duals, const Vector<std::uint32_t>& rows,
                            const Vector<std::uint8_t>& leaving,
                            const Vector<std::int64_t>& cursor_array, const Vector<double>& pass,
                            std::int64_t work, std::int64_t stop_seen, std::int64_t stop_steps) {
  const ProblemView& view = problem.view;
  const std::int64_t n = view.n();
  if (view.lanes < 2 || view.loss != Loss::hinge) {
    throw std::invalid_argument("the hinge of several classes only");
  }
  JointState state{};
  state.W = checked("W", W, {view.rows.weight_rows(), view.stride()});
  state.duals = checked("duals", duals, {n, view.lanes});
  state.rows = checked("rows", rows, {n});
  state.leaving = checked("leaving", leaving, {n});
  constexpr std::int64_t words = sizeof(JointCursor) / sizeof(std::int64_t);
  state.cursor = reinterpret_cast<JointCursor*>(checked("cursor", cursor_array, {words}));
  state.pass = reinterpret_cast<JointPass*>(checked("pass", pass, {4}));
  const JointCursor& at = *state.cursor;
  if (at.active < (at.recall != 0 ? 0 : 1) || at.active > n || at.place < 0 ||
      (at.place > 0 && at.place >= at.active)) {
    throw std::invalid_argument("cursor is out of range");
  }
  for (std::int64_t i = 0; i < state.cursor->active; ++i) {
    if (state.rows[i] >= n) throw std::invalid_argument("rows out of range");
  }
  nb::gil_scoped_release release;
  return advance(view, seed, state, {work, stop_seen, stop_steps});
}

}  // namespace

void bind_crammer_singer(nb::module_& m) {
  m.attr("JOINT_CURSOR") =
      nb::make_tuple("seen", "steps", "active", "place", "draws", "recall", "idle");
  m.attr("JOINT_PASS") = nb::make_tuple("gap", "moved", "last_gap", "last_moved");
  m.def("crammer_singer_advance", &crammer_singer_advance, nb::arg("problem"), nb::kw_only(),
        nb::arg("seed"), nb::arg("W").noconvert(), nb::arg("duals").noconvert(),
        nb::arg("rows").noconvert(), nb::arg("leaving").noconvert(), nb::arg("cursor").noconvert(),
        nb::arg("pass_").noconvert(), nb::arg("work"), nb::arg("stop_seen"), nb::arg("stop_steps"),
        "Run the sequential dual method until a stop (True) or out of work (False).");
}

}  // namespace binding
