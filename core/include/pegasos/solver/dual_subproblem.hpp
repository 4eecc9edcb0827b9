// Rows that are nearly alike move slowly one at a time: what one gains the others take back. So the
// rows that moved most in a pass move together, to the maximum of D over their duals alone: a small
// subproblem. One lane.
#pragma once

#include <cstdint>

#include "pegasos/solver/dual_tuning.hpp"

namespace pegasos {

struct ProblemView;

// Where coordinate ascent stands.
struct DualPoint {
  double* a;
  double* w;
  double* b;    // or null
  double pull;  // of a free intercept
};

// The rows that moved most, with their steps as changes of the gradient.
struct Subproblem {
  double least;  // of the sizes, once there are kSubproblemRows
  std::int64_t count;
  double sizes[kSubproblemRows];
  std::int64_t rows[kSubproblemRows];
};

// For the row kernels, which are compiled for several instruction sets.
static inline void add_to_subproblem(Subproblem& subproblem, std::int64_t row, double size) {
  std::int64_t at = subproblem.count;
  if (at < kSubproblemRows) {
    ++subproblem.count;
  } else {
    if (size <= subproblem.least) return;
    at = 0;
    while (at < kSubproblemRows - 1 && subproblem.sizes[at] != subproblem.least) ++at;
  }
  subproblem.sizes[at] = size;
  subproblem.rows[at] = row;
  if (subproblem.count < kSubproblemRows) return;
  subproblem.least = subproblem.sizes[0];
  for (std::int64_t i = 1; i < kSubproblemRows; ++i) {
    if (subproblem.sizes[i] < subproblem.least) subproblem.least = subproblem.sizes[i];
  }
}

// Moves the duals of the subproblem's rows to where D is largest, all others as they are.
void solve_subproblem(const ProblemView& problem, const Subproblem& subproblem,
                      const DualPoint& at);

}  // namespace pegasos
