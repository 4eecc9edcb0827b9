// Dual coordinate ascent (Hsieh et al. 2008, Algorithms 1 and 3): one dual at a time moves to its
// clipped maximiser,
//     a_i <- min(most, max(least, a_i + (o_i - y_i (w.x_i + b) - kappa a_i) / (q_i + kappa))),
// w follows as w(a), q_i = |x_i|^2 / s; box and kappa are the loss's (loss.hpp). A row without
// features has the same loss whatever w is: its dual goes to a bound.
//
// A free intercept is the multiplier of sum a y = 0, found by the method of multipliers:
// b = centre + pull sum a y, pull added to q_i; after every pass the centre moves to b.
//
// Between passes of one lane come second-order steps: of the rows that moved most (dual_knot.hpp),
// and of all in the span of their last changes (dual_span.hpp).
//
// Rows whose duals stay at a bound in all lanes of a group leave its list, until they are asked
// for again. One group may be visited by several threads: each has rows and a copy of w of its own,
// merged many times in a pass: as often as it takes to lose little of what each gains for itself.
#pragma once

#include <cstdint>

#include "pegasos/near_rows.hpp"
#include "pegasos/problem.hpp"
#include "pegasos/sampler.hpp"
#include "pegasos/solver/dual_span.hpp"
#include "pegasos/solver/dual_step.hpp"

namespace pegasos {

// Passes over all rows with nothing left to do, after which float64 is exhausted: however things
// look later, so that nobody has to look at every pass.
constexpr std::int64_t kIdlePasses = 4;

struct GroupCursor {
  std::int64_t seen;      // rows visited since the start
  std::int64_t steps;     // the same
  std::int64_t recall;    // whether all rows come back with the next pass
  std::int64_t recalled;  // rows visited when they last did
  std::int64_t idle;      // passes over all rows, the last ones, in which nothing was left to do
  std::int64_t active;    // rows in the list
  std::int64_t place;     // visits, or rounds of several threads, in the pass in hand
  std::int64_t parts;     // threads that share the pass in hand; 0: it has not begun
  std::int64_t rounds;    // and how often they merge; 0: threads do not pay
  std::int64_t walked;    // rows visited since the last move in the span of changes
  std::int64_t point;     // which of its slots holds the point
  std::int64_t known;     // changes that it knows
  std::int64_t looked;    // rows visited when the gap was last compared with the goal
};

// A thread's place in its order; apart from the others', so that no two write to one cache line.
struct alignas(8) ThreadOrder {
  Cursor cursor;
  std::int64_t apart[12];
};

// Lanes that share a list of rows, and the order in which it is visited.
struct DualGroup {
  LaneRange lanes;
  double* W;            // weight rows x stride: w(a) of its lanes, kept along the way
  std::int64_t stride;  // groups apart share no cache line
  GroupCursor* cursor;
  ThreadOrder* orders;    // one for each thread
  std::uint32_t* rows;    // n: those in the list, in storage order until shuffled
  std::uint32_t* chunks;  // n: the order's own, where chunk_bits > 0
  std::uint8_t* leaving;  // n, by place in the list
  double* slots;          // of the last changes (dual_span.hpp); null with several lanes
  double* slot_sums;
  Knot* knot;      // null with several lanes
  NearRows* near;  // copies of the rows of a short list; null: none are made
};

struct DualState {
  double* duals;       // n x lanes
  double* b;           // stride, the intercepts; null unless they are free
  double* centre;      // stride
  const double* pull;  // stride
  LanePass* passes;    // lanes
};

struct DualOptions {
  std::uint64_t seed;
  int chunk_bits;        // of the order, at most
  double row_size;       // stored values of a row, on average
  bool in_cache;         // the rows are so few that prefetching them costs more than it gains
  std::int64_t threads;  // for one group
  bool shrink;
  bool ends_passes;  // at a stop: else a pass that is over ends when the next one begins
  double goal;       // one lane: stop where a pass met a gap of so much of D; 0: none
};

// Every group goes as far as the budget lets it; true if all reached the stop that is counted in
// rows, or the goal.
bool advance(const ProblemView& problem, const DualOptions& options, const DualState& state,
             const DualGroup* groups, std::int64_t count, const Budget& budget);

}  // namespace pegasos
