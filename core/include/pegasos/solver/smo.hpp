// Sequential minimal optimization for kernels (Platt 1998), pairs chosen by second-order gain (Fan,
// Chen & Lin 2005):
//
//   max  sum a - 1/2 a'Qa,   0 <= a_i <= u_i,  and sum a y = 0 if `balanced`;   Q_ij = y_i y_j K_ij
//
// Keeps, beside a, slack_i = y_i - f_i with f = K (a y), which is all that a step needs besides the
// rows of K of the pair it moves. Rows come from a cache that the caller fills: a step whose row is
// missing ends the call.
#pragma once

#include <cstdint>

namespace pegasos {

inline constexpr double kFlat = 1e-12;  // the least curvature of a pair: equal rows have none

struct SmoState {
  std::int64_t n;
  const double* y;         // -1 or 1
  const double* upper;     // u
  const double* diagonal;  // of K
  double* a;
  double* slack;
  double* up;   // 0 where a y may rise, else -infinity
  double* low;  // 0 where a y may fall, else +infinity
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
  std::int64_t missing;  // the row
  std::int64_t steps;
  double violation;  // the largest, of the last step
};

// At most `work` steps, until no pair violates optimality by more than `tolerance`.
SmoProgress advance(const SmoState& state, KernelCache& cache, double tolerance, std::int64_t work);

// The passes over n numbers, once per instruction set.
struct SmoKernels {
  // The largest of slack + up, and where.
  double (*highest)(std::int64_t n, const double* slack, const double* up, std::int64_t* at);
  // The partner of i with the largest gain, -1 if there is none; the least of slack + low.
  std::int64_t (*partner)(const SmoState& state, std::int64_t i, double highest, const float* row,
                          double* least);
  // slack -= by (one - other); `other` may be null.
  void (*move)(std::int64_t n, double by, const float* one, const float* other, double* slack);
  // Without balance: the row with the largest gain by itself, and its step of a y.
  std::int64_t (*single)(const SmoState& state, double* violation);
};
const SmoKernels& smo_kernels();

}  // namespace pegasos
