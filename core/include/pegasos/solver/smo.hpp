// Sequential minimal optimization for kernels (Platt 1998), pairs chosen by second-order gain (Fan,
// Chen & Lin 2005):
//
//   max  sum a - 1/2 a'Qa,   0 <= a_i <= u_i,  and sum a y = 0 if `balanced`;   Q_ij = y_i y_j K_ij
//
// Keeps, beside a, slack_i = y_i - f_i with f = K (a y), which is all that a step needs besides the
// rows of K of the pair it moves. Those come from a cache that the caller fills, and pairs are
// chosen among rows that are there, until they violate optimality far less than the others do.
#pragma once

#include <cstdint>

namespace pegasos {

// The least curvature that a step is divided by: equal rows have none. As in LIBSVM.
inline constexpr double kLeastCurvature = 1e-12;

// What a row may do.
inline constexpr std::uint8_t kRises = 1;  // its a y may rise
inline constexpr std::uint8_t kFalls = 2;  // or fall
inline constexpr std::uint8_t kHere = 4;   // its row of K is in the cache

struct SmoState {
  std::int64_t n;
  const double* y;        // -1 or 1
  const double* upper;    // u
  const float* diagonal;  // of K
  double* a;
  double* slack;
  std::uint8_t* marks;
  bool balanced;
};

struct KernelCache {
  const float* rows;          // each of n values
  const std::int32_t* place;  // of each row of K; -1: not there
  std::int64_t* used;         // when each place was last used
  std::int64_t clock;
};

enum class SmoEnd : std::uint8_t { work, converged, missing };

struct SmoProgress {
  SmoEnd end;
  std::int64_t steps;
  double violation;  // the largest of all rows
  double gain;       // of the objective
  double flattest;   // the least curvature of a step: negative if K is not positive semidefinite
};

// At most `work` steps, until no pair violates optimality by more than `tolerance`, or none of
// those in the cache by more than `share` of what others do.
struct SmoWork {
  double tolerance, share;
  std::int64_t steps, threads;
};
SmoProgress advance(const SmoState& state, KernelCache& cache, const SmoWork& work);

// What a pass over rows finds: the largest slack of those that may rise, the least of those that
// may fall, of all and of those here; without balance, violations of each row by itself.
struct SmoEnds {
  double highest, lowest;
  double highest_here, lowest_here;
  std::int64_t at;  // the row to move: that of highest_here, or of the largest gain; -1: none
  double best;      // what was largest there
};

// Rows [begin, end) of a pass, once per instruction set.
struct SmoKernels {
  // slack -= by (one - other), and what then holds; `one` may be null, or `other`.
  SmoEnds (*pairs)(const SmoState& state, std::int64_t begin, std::int64_t end, double by,
                   const float* one, const float* other);
  // The partner of i with the largest gain, -1 if there is none, and that gain.
  std::int64_t (*partner)(const SmoState& state, std::int64_t begin, std::int64_t end,
                          std::int64_t i, const float* row, double* gain);
  // slack -= by one, without balance.
  SmoEnds (*singles)(const SmoState& state, std::int64_t begin, std::int64_t end, double by,
                     const float* one);
};
const SmoKernels& smo_kernels();

}  // namespace pegasos
