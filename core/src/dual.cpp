#include "pegasos/solver/dual.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "dual_team.hpp"
#include "pegasos/solver/dual_tuning.hpp"

namespace pegasos {
namespace {

using std::int64_t;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class L>
class GroupRun {
 public:
  GroupRun(L loss, const ProblemView& problem, const DualOptions& options, const DualState& state,
           const DualGroup& group)
      : loss_(loss),
        problem_(problem),
        options_(options),
        state_(state),
        group_(group),
        cursor_(*group.cursor) {}

  bool run(const Budget& budget) {
    int64_t work = budget.work;
    in_copies_ = cursor_.parts == 1 && copy_rows();
    for (;;) {
      if (cursor_.seen >= std::min(budget.stop_seen, budget.stop_steps)) {
        if (options_.ends_passes && over()) end_pass();
        return true;
      }
      if (work <= 0) return false;
      if (cursor_.active == 0 && cursor_.recall == 0) {  // of a block: there is nothing to visit
        cursor_.steps = cursor_.seen = std::min(budget.stop_seen, budget.stop_steps);
        return true;
      }
      if (over()) end_pass();
      if (cursor_.parts == 0) begin_pass();
      const int64_t before = cursor_.seen;
      const int64_t room = std::min({work, budget.stop_seen - before, budget.stop_steps - before});
      cursor_.parts == 1 ? alone(room) : together(room);
      work -= cursor_.seen - before;
      if (over()) {
        for (int64_t k = group_.lanes.first; k < group_.lanes.last; ++k) {
          state_.passes[k].last_gap = state_.passes[k].gap;
        }
        if (near_goal()) return true;
      }
    }
  }

 private:
  // Whether all rows of the pass in hand have been visited. It ends when the next one begins: a
  // second-order step raises D, but P as well, until the rows have been visited once more, so a
  // model is best looked at before.
  bool over() const {
    if (cursor_.parts == 0) return false;
    return cursor_.place >= (cursor_.parts == 1 ? cursor_.active : cursor_.rounds);
  }

  // Asked once in so many visits that the sums cost little beside them.
  bool near_goal() {
    if (!(options_.goal > 0.0)) return false;
    const double visited =
        static_cast<double>(cursor_.seen - cursor_.looked) * std::max(1.0, options_.row_size);
    if (visited < kValuesVisitedPerNumberOfD *
                      static_cast<double>(problem_.n() + problem_.rows.weight_rows())) {
      return false;
    }
    cursor_.looked = cursor_.seen;
    double dual =
        sum(problem_.n(), [&](int64_t i) { return state_.duals[i] * problem_.offset(i, 0); });
    if constexpr (L::curved) {
      dual -= sum(problem_.n(), [&](int64_t i) {
        const double a = state_.duals[i];
        return a == 0.0 ? 0.0 : loss_.square(a, problem_.cost(i, 0, problem_.side(i, 0)));
      });
    }
    const double* w = group_.W;
    const double square = sum(problem_.rows.weight_rows(), [&](int64_t j) { return w[j] * w[j]; });
    return state_.passes[0].last_gap <= options_.goal * (dual - problem_.s[0] / 2.0 * square);
  }
  // Of values of 0 .. size - 1, in partial sums that need not wait for each other.
  template <class Value>
  static double sum(int64_t size, const Value& value) {
    double parts[8] = {};
    int64_t i = 0;
    for (; i + 8 <= size; i += 8) {
      for (int64_t k = 0; k < 8; ++k) parts[k] += value(i + k);
    }
    for (; i < size; ++i) parts[0] += value(i);
    return std::accumulate(parts, parts + 8, 0.0);
  }

  void begin_pass() {
    if (cursor_.recall != 0) recall();
    cursor_.parts = worth_sharing() ? options_.threads : 1;
    cursor_.place = 0;
    if (group_.subproblem != nullptr) *group_.subproblem = {};
    for (int64_t k = group_.lanes.first; k < group_.lanes.last; ++k) {
      LanePass& pass = state_.passes[k];
      pass.gap = pass.up = pass.down = pass.rise = pass.lost = 0.0;
    }
    in_copies_ = cursor_.parts == 1 && copy_rows();
    for (int64_t p = 0; p < cursor_.parts; ++p) {
      group_.orders[p].cursor.seen = 0;
      if (bits() == 0) continue;
      std::uint32_t* chunks = group_.chunks + begin_of(p);
      std::iota(chunks, chunks + (size_of(p) >> bits()), 0U);
    }
  }

  // Copies the rows of a short list next to each other, if these are not all there already.
  bool copy_rows() const {
    if (group_.copies == nullptr || cursor_.active > problem_.n() / kRowsPerCopiedRow) return false;
    return group_.copies->copy(group_.rows, cursor_.active);
  }

  // Second-order steps, of some rows and of all together: each takes as long as some visits.
  void leap() {
    if (cursor_.seen < kEpochsBeforeSecondOrder * problem_.n() || quiet()) return;
    const double visited = static_cast<double>(cursor_.active) * options_.row_size;
    const auto weights = static_cast<double>(problem_.rows.weight_rows());
    if (cursor_.active >= kVisitsPerSubproblemRow * kSubproblemRows && visited >= weights) {
      solve_subproblem(problem_, *group_.subproblem, point());
    }
    cursor_.walked += cursor_.active;
    const double values = static_cast<double>(cursor_.walked) * options_.row_size;
    const int64_t size = 2 * problem_.n() + problem_.rows.weight_rows();
    if (group_.slots == nullptr ||
        values < kValuesVisitedPerNumberOfSpan * static_cast<double>(size))
      return;
    cursor_.walked = 0;
    move_in_span(problem_, changes(), point());
  }
  Changes changes() const {
    return {group_.slots, group_.slot_sums, &state_.passes[0].reach, &cursor_.point,
            &cursor_.known};
  }
  DualPoint point() const {
    return {state_.duals, group_.W, state_.b, state_.b != nullptr ? state_.pull[0] : 0.0};
  }

  void end_pass() {
    if (group_.subproblem != nullptr) leap();
    bool exhausted = true;  // the rows that left may well add more to the gap by now
    bool balanced = true;   // no intercept is on its way
    for (int64_t k = group_.lanes.first; k < group_.lanes.last; ++k) {
      LanePass& pass = state_.passes[k];
      if (cursor_.active == problem_.n()) pass.whole_gap = pass.gap;
      exhausted = exhausted && pass.gap < kGapShareOfExhaustedList * pass.whole_gap;
      pass.last_up = pass.up > 0.0 ? kViolationShareToLeave * pass.up : kInfinity;
      pass.last_down = pass.down > 0.0 ? kViolationShareToLeave * pass.down : kInfinity;
      if (state_.b != nullptr) {
        const double moved = state_.b[k] - state_.centre[k];
        const double size = problem_.size(k) + std::abs(state_.b[k]);
        balanced = balanced && std::abs(moved) <= kLeastViolation * size;
        state_.centre[k] = state_.b[k];
        state_.b[k] += moved;
      }
    }
    if (cursor_.parts > 1) plan_rounds();
    int64_t kept = 0;
    for (int64_t place = 0; place < cursor_.active; ++place) {
      const bool leaves = group_.leaving[place] != 0 && !freed(group_.rows[place]);
      if (!leaves) group_.rows[kept++] = group_.rows[place];
      group_.leaving[place] = 0;
    }
    if (balanced && quiet()) {  // with this list, that is: all rows are looked at again
      cursor_.recall = 1;
      if (cursor_.active == problem_.n()) ++cursor_.idle;
    } else if (cursor_.idle < kIdlePasses) {
      cursor_.idle = 0;
    }
    cursor_.active = kept;
    const int64_t since = cursor_.seen - cursor_.recalled;
    cursor_.recall |=
        kept == 0 || since >= (exhausted ? kFewestEpochsOfList : kMostEpochsOfList) * problem_.n();
    cursor_.parts = 0;
  }

  // Whether a second-order step took the row off its bound.
  bool freed(int64_t row) const {
    if (group_.subproblem == nullptr) return false;
    const double a = state_.duals[row];
    const int y = problem_.side(row, 0);
    if (y == 0) return false;
    const double cost = problem_.cost(row, 0, y);
    return loss_.least(cost) < a && a < loss_.most(cost);
  }

  // Whether no dual was further than the last digits from its place.
  bool quiet() const {
    for (int64_t k = group_.lanes.first; k < group_.lanes.last; ++k) {
      const LanePass& pass = state_.passes[k];
      if (std::max(pass.up, pass.down) > kLeastViolation * problem_.size(k)) return false;
    }
    return true;
  }

  bool worth_sharing() const {
    const double visited = static_cast<double>(cursor_.active) * options_.row_size;
    const double merged =
        kValuesVisitedPerMergedWeight * static_cast<double>(problem_.rows.weight_rows());
    const double meetings = static_cast<double>(options_.threads * cursor_.rounds);
    return cursor_.rounds > 0 && visited >= meetings * std::max(merged, kFewestValuesOfThreadRound);
  }

  // D rose by what the steps of each thread gain alone, less what they lose together.
  void plan_rounds() {
    double lost = 0.0;
    double rise = 0.0;
    for (int64_t k = group_.lanes.first; k < group_.lanes.last; ++k) {
      lost += state_.passes[k].lost;
      rise += state_.passes[k].rise;
    }
    if (lost > kLossForMoreRounds * rise) cursor_.rounds *= 4;
    if (lost < kLossForFewerRounds * rise)
      cursor_.rounds = std::max(kFewestRounds, cursor_.rounds / 2);
    if (cursor_.rounds * kFewestVisitsOfRound * cursor_.parts > cursor_.active) cursor_.rounds = 0;
  }

  void recall() {
    if (group_.slots != nullptr && cursor_.known >= 0) renew_span(problem_, changes(), point());
    cursor_.recall = 0;
    cursor_.recalled = cursor_.seen;
    cursor_.active = problem_.n();
    std::iota(group_.rows, group_.rows + cursor_.active, 0U);
  }

  int64_t begin_of(int64_t part) const { return share_begin(cursor_.active, cursor_.parts, part); }
  int64_t size_of(int64_t part) const { return begin_of(part + 1) - begin_of(part); }
  int bits() const {
    int bits = options_.chunk_bits;
    const int64_t enough = std::min(kFewestChunks, problem_.n() >> bits);
    while (bits > 0 && (cursor_.active >> bits) < enough) --bits;
    return bits;
  }
  Part part_of(int64_t part) const {
    const int64_t begin = begin_of(part);
    const std::uint64_t seed = random_bits(
        options_.seed, static_cast<std::uint64_t>(group_.lanes.first * options_.threads + part));
    // Single rows are shuffled where they are listed; chunks of the list in an order of their own.
    const bool single = bits() == 0;
    return {Sampler(Sampling::permute, seed, size_of(part), bits(), &group_.orders[part].cursor,
                    (single ? group_.rows : group_.chunks) + begin),
            single ? nullptr : group_.rows + begin,
            group_.leaving + begin,
            group_.W,
            group_.stride,
            state_.b,
            state_.passes,
            group_.subproblem};
  }

  void alone(int64_t room) {
    Part part = part_of(0);
    const int64_t count = std::min(room, cursor_.active - cursor_.place);
    visit(part, count);
    cursor_.place += count;
    cursor_.steps = cursor_.seen += count;
  }

  // The next `count` visits of the part's order, a batch at a time.
  void visit(Part& part, int64_t count) const {
    Sampler order = part.order.at_cursor();
    std::uint32_t rows[kVisitsDrawnAtOnce];
    std::uint32_t copied[kVisitsDrawnAtOnce];
    int64_t places[kVisitsDrawnAtOnce];
    bool settled[kVisitsDrawnAtOnce];
    std::optional<Visitor<L>> lanes;
    if (problem_.lanes > 1) lanes.emplace(loss_, problem_, state_, group_.lanes);
    for (; count > 0; count -= std::min(count, kVisitsDrawnAtOnce)) {
      const int64_t batch = std::min(count, kVisitsDrawnAtOnce);
      for (int64_t i = 0; i < batch; ++i) {
        const int64_t visit = order.place();
        const int64_t next = order.next();
        places[i] = part.rows == nullptr ? visit : next;
        rows[i] = part.rows == nullptr ? static_cast<std::uint32_t>(next) : part.rows[next];
      }
      DualRows visits = visits_of(part, rows, batch, settled);
      if (lanes) {
        lanes->visit(part, visits);
      } else if (in_copies_) {
        for (int64_t i = 0; i < batch; ++i) copied[i] = group_.copies->place(rows[i]);
        visits.stored = copied;
        group_.copies->rows().dual_rows(visits);
      } else {
        problem_.rows.dual_rows(visits);
      }
      if (!options_.shrink) continue;
      for (int64_t i = 0; i < batch; ++i) {
        if (settled[i]) part.leaving[places[i]] = 1;
      }
    }
  }

  DualRows visits_of(const Part& part, const std::uint32_t* rows, int64_t count,
                     bool* settled) const {
    const ProblemView& p = problem_;
    return {.rows = rows,
            .stored = rows,
            .count = count,
            .w = part.W,
            .duals = state_.duals,
            .sides = p.sides,
            .targets = p.targets,
            .squared_norms = p.squared_norms,
            .weight = p.weight,
            .weight_stride = p.weight_row_stride,
            .positive = p.positive[0],
            .negative = p.negative[0],
            .inverse = 1.0 / p.s[0],
            .pull = part.b != nullptr ? state_.pull[0] : 0.0,
            .b = part.b,
            .pass = part.passes,
            .loss = p.loss,
            .prefetch = !options_.in_cache,
            .settled = settled,
            .subproblem = part.subproblem};
  }

  void together(int64_t room) {
    std::vector<Part> parts;
    for (int64_t p = 0; p < cursor_.parts; ++p) parts.push_back(part_of(p));
    if (!team_) team_.emplace(problem_, state_, group_, options_.threads);
    team_->begin(std::move(parts));
    for (int64_t visited = 0; visited < room && cursor_.place < cursor_.rounds; ++cursor_.place) {
      team_->round([&](Part& part, int64_t p) { visit(part, round_size(p)); });
      int64_t round = 0;
      for (int64_t p = 0; p < cursor_.parts; ++p) round += round_size(p);
      visited += round;
      cursor_.steps = cursor_.seen += round;
    }
  }
  int64_t round_size(int64_t part) const {
    const int64_t size = size_of(part);
    return share_begin(size, cursor_.rounds, cursor_.place + 1) -
           share_begin(size, cursor_.rounds, cursor_.place);
  }

  L loss_;
  const ProblemView& problem_;
  const DualOptions& options_;
  const DualState& state_;
  const DualGroup& group_;
  GroupCursor& cursor_;
  std::optional<DualTeam> team_;
  bool in_copies_ = false;  // whether the rows of the list are visited in their copies
};

}  // namespace

bool advance(const ProblemView& problem, const DualOptions& options, const DualState& state,
             const DualGroup* groups, int64_t count, const Budget& budget) {
  DualOptions each = options;
  if (count > 1) each.threads = 1;
  std::atomic<int64_t> next = 0;
  std::atomic<bool> reached = true;
  in_parallel(std::min(count, options.threads), [&](int64_t) {
    for (int64_t g = next++; g < count; g = next++) {
      const bool done = with_loss(problem.loss, [&](auto loss) {
        return GroupRun(loss, problem, each, state, groups[g]).run(budget);
      });
      if (!done) reached = false;
    }
  });
  return reached;
}

}  // namespace pegasos
