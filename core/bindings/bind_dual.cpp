#include <nanobind/stl/optional.h>

#include <memory>
#include <utility>
#include <vector>

#include "pegasos/row_sums.hpp"
#include "pegasos/solver/dual.hpp"
#include "pegasos/solver/dual_tuning.hpp"
#include "problem.hpp"

namespace binding {
namespace {

using namespace pegasos;

template <class T>
constexpr std::int64_t words() {
  return sizeof(T) / sizeof(std::int64_t);
}

// States know it by the key "knot", and so does Python.
Subproblem* subproblem_of(const std::optional<Vector<std::int64_t>>& knot, std::int64_t n) {
  auto* found = reinterpret_cast<Subproblem*>(checked_or_null("knot", knot, {words<Subproblem>()}));
  if (found == nullptr) return nullptr;
  bool good = found->count >= 0 && found->count <= kSubproblemRows;
  for (std::int64_t i = 0; good && i < found->count; ++i) {
    good = found->rows[i] >= 0 && found->rows[i] < n;
  }
  if (!good) throw std::invalid_argument("knot is not one of these rows");
  return found;
}

bool dual_advance(const PyProblem& problem, std::uint64_t seed, int chunk_bits, double row_size,
                  bool in_cache, bool shrink, bool ends_passes, double goal,
                  const Vector<double>& W, const Matrix<double>& duals,
                  const std::optional<Vector<double>>& b,
                  const std::optional<Vector<double>>& centre,
                  const std::optional<Vector<double>>& pull, const Matrix<double>& passes,
                  const Vector<std::int64_t>& bounds, const Matrix<std::int64_t>& cursor_array,
                  const Matrix<std::int64_t>& orders, const Matrix<std::uint32_t>& rows,
                  const Matrix<std::uint32_t>& chunks, const Matrix<std::uint8_t>& leaving,
                  const std::optional<Matrix<double>>& slots,
                  const std::optional<Matrix<double>>& slot_sums,
                  const std::optional<Vector<std::int64_t>>& knot, std::int64_t work,
                  std::int64_t stop_seen, std::int64_t stop_steps) {
  const ProblemView& view = problem.view;
  const std::int64_t n = view.n();
  const std::int64_t K = view.lanes;
  DualState state{};
  double* weights = checked("W", W, {view.rows.weight_rows() * view.stride()});
  state.duals = checked("duals", duals, {n, K});
  state.b = checked_or_null("b", b, {view.stride()});
  state.centre = checked_or_null("centre", centre, {view.stride()});
  state.pull = checked_or_null("pull", pull, {view.stride()});
  if ((state.b == nullptr) != (state.centre == nullptr) ||
      (state.b == nullptr) != (state.pull == nullptr)) {
    throw std::invalid_argument("b, centre and pull belong together");
  }
  state.passes = reinterpret_cast<LanePass*>(checked("passes", passes, {K, words<LanePass>()}));
  const auto count = static_cast<std::int64_t>(cursor_array.shape(0));
  const std::int64_t* lane = checked("bounds", bounds, {count + 1});
  auto* cursor = reinterpret_cast<GroupCursor*>(
      checked("cursor", cursor_array, {count, words<GroupCursor>()}));
  auto* order = reinterpret_cast<ThreadOrder*>(
      checked("orders", orders, {count * view.threads, words<ThreadOrder>()}));
  // Taken by this call: another at the same time finds none.
  std::unique_ptr<RowCopies> copies = std::move(problem.copies);
  const bool sparse = view.rows.view().storage == Storage::csr;
  // Of a block, one pass is made.
  if (!copies && K == 1 && sparse && !in_cache && !ends_passes && 4 * n <= kMostBytesOfCopies) {
    copies = std::make_unique<RowCopies>(view.rows.view(), kMostBytesOfCopies);
  }
  const std::int64_t listed = chunk_bits > 0 ? n : 0;  // single rows are shuffled where they are
  std::uint32_t* chunk = checked("chunks", chunks, {count, listed});
  std::vector<DualGroup> groups;
  for (std::int64_t g = 0; g < count; ++g) {
    // Groups follow each other, so that their weights do not overlap.
    if (lane[g] < 0 || lane[g] >= lane[g + 1] || lane[g + 1] > K || lane[g] % 4 != 0) {
      throw std::invalid_argument("bounds are not those of groups");
    }
    // Several groups run side by side, each on one thread.
    const std::int64_t parts = cursor[g].parts;
    const std::int64_t threads = count > 1 ? 1 : view.threads;
    if (cursor[g].active < 0 || cursor[g].active > n || cursor[g].place < 0 ||
        (parts != 0 && parts != 1 && parts != threads)) {
      throw std::invalid_argument("cursor is not those of groups");
    }
    const LaneRange lanes{lane[g], lane[g + 1]};
    groups.push_back(
        {.lanes = lanes,
         .W = weights + view.rows.weight_rows() * lanes.first,
         .stride = lanes.width(),
         .cursor = cursor + g,
         .orders = order + g * view.threads,
         .rows = checked("rows", rows, {count, n}) + g * n,
         .chunks = chunk + g * listed,
         .leaving = checked("leaving", leaving, {count, n}) + g * n,
         .slots = K == 1
                      ? checked_or_null("slots", slots, {kSpanSlots, n + view.rows.weight_rows()})
                      : nullptr,
         .slot_sums = K == 1 ? checked_or_null("slot_sums", slot_sums, {kSpanSlots, 2}) : nullptr,
         .subproblem = K == 1 ? subproblem_of(knot, n) : nullptr,
         .copies = copies.get()});
    if (cursor[g].point < 0 || cursor[g].point >= kSpanSlots || cursor[g].known < -1 ||
        cursor[g].known >= kSpanSlots ||
        (groups.back().slots == nullptr) != (groups.back().slot_sums == nullptr)) {
      throw std::invalid_argument("cursor and slots are not those of groups");
    }
  }
  const DualOptions options{seed,         chunk_bits, row_size,    in_cache,
                            view.threads, shrink,     ends_passes, K == 1 ? goal : 0.0};
  bool reached = false;
  {
    nb::gil_scoped_release release;
    reached = advance(view, options, state, groups.data(), count, {work, stop_seen, stop_steps});
  }
  problem.copies = std::move(copies);
  return reached;
}

const std::uint32_t* rows_of(const ProblemView& view, const In<std::uint32_t, nb::ndim<1>>& rows) {
  if (view.lanes != 1) throw std::invalid_argument("one lane at a time");
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    if (rows.data()[i] >= view.n()) throw std::invalid_argument("rows out of range");
  }
  return rows.data();
}

void add(const PyProblem& problem, const In<std::uint32_t, nb::ndim<1>>& rows,
         const In<double, nb::ndim<1>>& factors, const Vector<double>& out) {
  const ProblemView& view = problem.view;
  const auto count = static_cast<std::int64_t>(rows.shape(0));
  const std::uint32_t* list = rows_of(view, rows);
  const double* values = checked("factors", factors, {count});
  double* sum = checked("out", out, {view.rows.weight_rows()});
  nb::gil_scoped_release release;
  add_rows(view, list, count, values, sum);
}

}  // namespace

void bind_dual(nb::module_& m) {
  m.def("add_rows", &add, nb::arg("problem"), nb::arg("rows").noconvert(),
        nb::arg("factors").noconvert(), nb::arg("out").noconvert(),
        "Add the sum of factor x over some rows.");
  m.attr("LANE_PASS") = nb::make_tuple("gap", "up", "down", "rise", "lost", "last_gap", "last_up",
                                       "last_down", "whole_gap", "reach");
  m.attr("GROUP_CURSOR") =
      nb::make_tuple("seen", "steps", "recall", "recalled", "idle", "active", "place", "parts",
                     "rounds", "walked", "point", "known", "looked");
  m.attr("IDLE_PASSES") = kIdlePasses;
  m.attr("FEWEST_CHUNKS") = kFewestChunks;
  m.attr("LEAST_VIOLATION") = kLeastViolation;
  m.attr("LOSS_FOR_FEWER_ROUNDS") = kLossForFewerRounds;
  m.attr("LOSS_FOR_MORE_ROUNDS") = kLossForMoreRounds;
  m.attr("MOST_EPOCHS_OF_LIST") = kMostEpochsOfList;
  m.attr("VIOLATION_SHARE_TO_LEAVE") = kViolationShareToLeave;
  m.attr("SPAN_SLOTS") = kSpanSlots;
  m.attr("SUBPROBLEM_SIZE") = words<Subproblem>();
  m.attr("THREAD_ORDER_SIZE") = words<ThreadOrder>();
  m.def("dual_advance", &dual_advance, nb::arg("problem"), nb::kw_only(), nb::arg("seed"),
        nb::arg("chunk_bits"), nb::arg("row_size"), nb::arg("in_cache"), nb::arg("shrink"),
        nb::arg("ends_passes"), nb::arg("goal"), nb::arg("W").noconvert(),
        nb::arg("duals").noconvert(), nb::arg("b").noconvert().none(),
        nb::arg("centre").noconvert().none(), nb::arg("pull").noconvert().none(),
        nb::arg("passes").noconvert(), nb::arg("bounds").noconvert(), nb::arg("cursor").noconvert(),
        nb::arg("orders").noconvert(), nb::arg("rows").noconvert(), nb::arg("chunks").noconvert(),
        nb::arg("leaving").noconvert(), nb::arg("slots").noconvert().none(),
        nb::arg("slot_sums").noconvert().none(), nb::arg("knot").noconvert().none(),
        nb::arg("work"), nb::arg("stop_seen"), nb::arg("stop_steps"),
        "Run dual coordinate ascent until a stop (True) or out of work (False).");
}

}  // namespace binding
