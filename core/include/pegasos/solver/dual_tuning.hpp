// The tuned numbers of dual coordinate ascent: what each bounds, and what it was set by. "Not
// measured apart" means that a number came with what it belongs to: there is no record of others.
// docs/design/dual-coordinate.md has the measurements.
#pragma once

#include <cstdint>

namespace pegasos {

// -- The list of rows ---------------------------------------------------------------------------
// A row may leave if it is further from moving than this share of the largest violation of the last
// pass: the whole of that is a single outlier's. A third of the visits on w8a, against 1.
inline constexpr double kViolationShareToLeave = 0.1;
// Epochs until all rows come back, whatever the list still holds. Tiny, badly scaled problems went
// on for ever without the rows that mattered; the number itself was not measured apart.
inline constexpr std::int64_t kMostEpochsOfList = 10;
// Epochs until they come back if the list is exhausted. Not measured apart.
inline constexpr std::int64_t kFewestEpochsOfList = 6;
// A list is exhausted below this share of the gap that the last pass over all rows met: the rest of
// the gap is likely to be elsewhere. Not measured apart.
inline constexpr double kGapShareOfExhaustedList = 0.1;
// Violations below this share of a typical margin are rounding: nothing is left to do. About fifty
// roundings of float64; not measured apart.
inline constexpr double kLeastViolation = 1e-14;
// Passes over all rows with nothing left to do, after which float64 is exhausted: however things
// look later, so that nobody has to look at every pass. Not measured apart.
inline constexpr std::int64_t kIdlePasses = 4;

// -- The order of visits, and memory ------------------------------------------------------------
// Chunks of a permuted order, at least; a short list has smaller chunks. benchmarks/order.py: SGDS
// on rows sorted by class slows down as chunk / n grows.
inline constexpr std::int64_t kFewestChunks = 2048;
// Visits whose rows are drawn before the first is made, in arrays on the stack. Not measured apart.
inline constexpr std::int64_t kVisitsDrawnAtOnce = 128;
// Rows between the one that is visited and the one that is prefetched. Not measured apart.
inline constexpr std::int64_t kRowsAheadPrefetched = 8;
// Of so many rows, at most one is left in a list whose rows are copied. With the next number: 10 to
// 20% off fits of news-like text at C >= 1.
inline constexpr std::int64_t kRowsPerCopiedRow = 4;
// The most that these copies may take.
inline constexpr std::int64_t kMostBytesOfCopies = 1 << 24;

// -- What a look at the gap has to be paid with -------------------------------------------------
// Values visited for every number that is added up to D. Not measured apart.
inline constexpr double kValuesVisitedPerNumberOfD = 4.0;

// -- Second-order steps -------------------------------------------------------------------------
// Epochs before the first one: easy fits do without. benchmarks/dual.py has what the steps gain;
// the number was not measured apart.
inline constexpr std::int64_t kEpochsBeforeSecondOrder = 6;
// Rows of the subproblem. Its matrix costs as much as visiting a few hundred rows; with it, the
// last digits may take a tenth of the passes. The size was not measured apart.
inline constexpr std::int64_t kSubproblemRows = 32;
// Rows visited for every row of the subproblem. Not measured apart.
inline constexpr std::int64_t kVisitsPerSubproblemRow = 32;
// Rounds in which the subproblem is solved, at most; it ends where moves fall below a share of the
// first ones, and leaves the rest to the passes. Not measured apart.
inline constexpr int kMostSubproblemRounds = 40;
inline constexpr double kSubproblemMoveLeft = 1e-6;
// Added to the curvature of its rows, as a share: rows that depend on others would go far. Not
// measured apart.
inline constexpr double kSubproblemRidge = 1e-10;
// Changes that span the next move. With three, a fold of the RCV1 subset is trained to 1e-3 2.5
// times as fast at C = 100, six times at C = 1000. Their number was not measured apart.
inline constexpr std::int64_t kSpanSlots = 3;
// Values visited for every number that a move in the span touches, a row's twice. Not measured
// apart.
inline constexpr double kValuesVisitedPerNumberOfSpan = 3.0;
// The next move's reach over this one's, where D fell and where it rose; and the least reach. Not
// measured apart.
inline constexpr double kReachAfterFall = 0.5, kReachAfterRise = 1.4;
inline constexpr double kLeastReach = 1e-3;
// Of |w|^2: a smaller square of a change of w has too few digits as a difference, so the change is
// summed from rows. At 1e-8 the change is 1e-4 of |w| and has lost four. Not measured apart.
inline constexpr double kSquareOfChangeWithFewDigits = 1e-8;
// Of a change's square: what the changes before it leave of an independent one, at least. Not
// measured apart.
inline constexpr double kLeastIndependentShare = 1e-10;

// -- Threads that share a list ------------------------------------------------------------------
// Stored values visited in a round for every weight that is merged. It was 3 until half
// of that was found to pay, too; benchmarks/threads.py measures threads as a whole.
inline constexpr double kValuesVisitedPerMergedWeight = 1.5;
// Stored values that a thread visits in a round, at least: less does not repay the meeting. Not
// measured apart.
inline constexpr double kFewestValuesOfThreadRound = 1 << 14;
// Rounds of a pass, and a thread's visits in one, at least. Not measured apart.
inline constexpr std::int64_t kFewestRounds = 8;
inline constexpr std::int64_t kFewestVisitsOfRound = 32;
// Of what threads gain, what they lose to each other: above the first, they meet more often; below
// the second, less often. Not measured apart.
inline constexpr double kLossForMoreRounds = 0.25;
inline constexpr double kLossForFewerRounds = 0.06;

}  // namespace pegasos
