#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "pegasos/solver/pegasos.hpp"
#include "pegasos/solver/sgd.hpp"
#include "problem.hpp"

namespace binding {
namespace {

using namespace pegasos;

Sampling sampling_mode(const std::string& name) {
  if (name == "iid") return Sampling::iid;
  if (name == "permute") return Sampling::permute;
  if (name == "cycle") return Sampling::cycle;
  throw std::invalid_argument("unknown sampling " + name);
}

// The sampler and the arrays its cursor and order live in.
class PySampler {
 public:
  PySampler(const std::string& mode, std::uint64_t seed, std::int64_t n, int chunk_bits,
            const Vector<std::int64_t>& cursor, const Vector<std::uint32_t>& chunks)
      : sampler(make(mode, seed, n, chunk_bits, cursor, chunks)),
        owners_{nb::cast(cursor), nb::cast(chunks)} {}
  Sampler sampler;

 private:
  static Sampler make(const std::string& mode, std::uint64_t seed, std::int64_t n, int chunk_bits,
                      const Vector<std::int64_t>& cursor, const Vector<std::uint32_t>& chunks) {
    if (n < 1) throw std::invalid_argument("n must be positive");
    if (chunk_bits < 0 || chunk_bits > 30) {
      throw std::invalid_argument("chunk_bits out of range");
    }
    const Sampling sampling = sampling_mode(mode);
    auto* place = checked("cursor", cursor, {sizeof(Cursor) / sizeof(std::int64_t)});
    const bool permute = sampling == Sampling::permute;
    return Sampler(sampling, seed, n, chunk_bits, reinterpret_cast<Cursor*>(place),
                   checked("chunks", chunks, {permute ? n >> chunk_bits : 0}));
  }
  nb::object owners_[2];
};

bool pegasos_advance(
    const PyProblem& problem, PySampler& sampler, std::int64_t batch_size, bool project,
    bool count_on_loss, bool cut_batches, const Matrix<double>& v, const Vector<double>& a,
    const Vector<double>& nu, const Vector<double>& nu_peak, const Vector<std::int64_t>& updates,
    std::int64_t refresh_every, const std::optional<Vector<double>>& a_total,
    const std::optional<Matrix<double>>& late, const Vector<std::int64_t>& t,
    const Matrix<std::uint32_t>& errors, const std::optional<Vector<std::uint32_t>>& draws,
    const Vector<std::uint32_t>& batch, const Matrix<std::uint8_t>& violators,
    const Vector<std::int64_t>& batch_rows, const Vector<std::int64_t>& batch_violators,
    const Vector<std::int64_t>& batch_cursor, const In<double, nb::ndim<1>>& radius,
    std::int64_t work, std::int64_t stop_seen, std::int64_t stop_steps) {
  const ProblemView& view = problem.view;
  const std::int64_t rows = view.rows.weight_rows();
  const std::int64_t K = view.lanes;
  PegasosState state{};
  state.w = ScaledVectors{.rows = rows,
                          .lanes = K,
                          .stride = view.stride(),
                          .v = checked("v", v, {rows, view.stride()}),
                          .a = checked("a", a, {K}),
                          .nu = checked("nu", nu, {K}),
                          .nu_peak = checked("nu_peak", nu_peak, {K}),
                          .updates = checked("updates", updates, {1}),
                          .refresh_every = refresh_every,
                          .a_total = checked_or_null("a_total", a_total, {K}),
                          .late = checked_or_null("late", late, {rows, view.stride()})};
  state.t = checked("t", t, {K});
  state.errors = checked("errors", errors, {view.n(), K});
  state.draws = checked_or_null("draws", draws, {view.n()});
  state.batch = checked("batch", batch, {batch_size});
  state.violators = checked("violators", violators, {batch_size, K});
  state.batch_rows = checked("batch_rows", batch_rows, {K});
  state.batch_violators = checked("batch_violators", batch_violators, {K});
  state.cursor = reinterpret_cast<BatchCursor*>(
      checked("batch_cursor", batch_cursor, {sizeof(BatchCursor) / sizeof(std::int64_t)}));
  state.radius_squared = checked("radius_squared", radius, {K});
  const PegasosOptions options{batch_size, project, count_on_loss, cut_batches};
  nb::gil_scoped_release release;
  return advance(view, sampler.sampler, options, state, {work, stop_seen, stop_steps});
}

bool sgd_advance(const PyProblem& problem, PySampler& sampler, std::int64_t multiplicity,
                 const Matrix<double>& U, const Vector<std::int64_t>& t,
                 const Matrix<std::uint32_t>& errors,
                 const std::optional<Vector<std::uint32_t>>& draws,
                 const Vector<double>& error_cost, const Vector<double>& loss, std::int64_t work,
                 std::int64_t stop_seen, std::int64_t stop_steps) {
  const ProblemView& view = problem.view;
  SgdState state{};
  state.U = checked("U", U, {view.rows.weight_rows(), view.stride()});
  state.t = checked("t", t, {view.lanes});
  state.errors = checked("errors", errors, {view.n(), view.lanes});
  state.draws = checked_or_null("draws", draws, {view.n()});
  state.error_cost = checked("error_cost", error_cost, {view.lanes});
  state.loss = checked("loss", loss, {view.lanes});
  nb::gil_scoped_release release;
  return advance(view, sampler.sampler, multiplicity, state, {work, stop_seen, stop_steps});
}

}  // namespace

void bind_solvers(nb::module_& m) {
  m.attr("CURSOR_SIZE") = sizeof(Cursor) / sizeof(std::int64_t);
  nb::class_<PySampler>(m, "Sampler", "The order in which rows are visited.")
      .def(nb::init<const std::string&, std::uint64_t, std::int64_t, int,
                    const Vector<std::int64_t>&, const Vector<std::uint32_t>&>(),
           nb::arg("mode"), nb::arg("seed"), nb::arg("n"), nb::arg("chunk_bits"),
           nb::arg("cursor").noconvert(), nb::arg("chunks").noconvert())
      .def(
          "next", [](PySampler& self) { return self.sampler.next(); }, "The next row of the order.")
      .def(
          "count_visits",
          [](PySampler& self, std::int64_t n, const Vector<std::int64_t>& counts) {
            self.sampler.count_visits(checked("counts", counts, {n}));
          },
          nb::arg("n"), nb::arg("counts").noconvert(),
          "Write how often each row has been visited (permute, cycle).");

  m.def("burst_updates", &burst_updates, nb::arg("presentations"), nb::arg("g"), nb::arg("theta"),
        nb::arg("r"), nb::arg("lam"), "Updates made by a burst of presentations of one row.");

  m.def("pegasos_advance", &pegasos_advance, nb::arg("problem"), nb::arg("sampler"), nb::kw_only(),
        nb::arg("batch_size"), nb::arg("project"), nb::arg("count_on_loss"), nb::arg("cut_batches"),
        nb::arg("v").noconvert(), nb::arg("a").noconvert(), nb::arg("nu").noconvert(),
        nb::arg("nu_peak").noconvert(), nb::arg("updates").noconvert(), nb::arg("refresh_every"),
        nb::arg("a_total").noconvert().none(), nb::arg("late").noconvert().none(),
        nb::arg("t").noconvert(), nb::arg("errors").noconvert(),
        nb::arg("draws").noconvert().none(), nb::arg("batch").noconvert(),
        nb::arg("violators").noconvert(), nb::arg("batch_rows").noconvert(),
        nb::arg("batch_violators").noconvert(), nb::arg("batch_cursor").noconvert(),
        nb::arg("radius_squared").noconvert(), nb::arg("work"), nb::arg("stop_seen"),
        nb::arg("stop_steps"), "Run Pegasos until a stop (True) or out of work (False).");

  m.def("sgd_advance", &sgd_advance, nb::arg("problem"), nb::arg("sampler"), nb::kw_only(),
        nb::arg("multiplicity"), nb::arg("U").noconvert(), nb::arg("t").noconvert(),
        nb::arg("errors").noconvert(), nb::arg("draws").noconvert().none(),
        nb::arg("error_cost").noconvert(), nb::arg("loss").noconvert(), nb::arg("work"),
        nb::arg("stop_seen"), nb::arg("stop_steps"),
        "Run the margin perceptron until a stop (True) or out of work (False).");
}

}  // namespace binding
