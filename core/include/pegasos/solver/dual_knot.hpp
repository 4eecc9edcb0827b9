// Rows that are nearly alike move slowly one at a time: what one gains the others take back. So the
// rows that moved most in a pass (a knot) are moved together, to the maximum of D over their duals
// alone. One lane.
#pragma once

#include <cstdint>

namespace pegasos {

struct ProblemView;

// Where coordinate ascent stands.
struct DualPoint {
  double* a;
  double* w;
  double* b;    // or null
  double pull;  // of a free intercept
};

constexpr std::int64_t kKnotRows = 32;

// The rows that moved most, with their steps as changes of the gradient.
struct Knot {
  double least;  // of the sizes, once there are kKnotRows
  std::int64_t count;
  double sizes[kKnotRows];
  std::int64_t rows[kKnotRows];
};

// For the row kernels, which are compiled for several instruction sets.
static inline void add_to_knot(Knot& knot, std::int64_t row, double size) {
  std::int64_t at = knot.count;
  if (at < kKnotRows) {
    ++knot.count;
  } else {
    if (size <= knot.least) return;
    at = 0;
    while (at < kKnotRows - 1 && knot.sizes[at] != knot.least) ++at;
  }
  knot.sizes[at] = size;
  knot.rows[at] = row;
  if (knot.count < kKnotRows) return;
  knot.least = knot.sizes[0];
  for (std::int64_t i = 1; i < kKnotRows; ++i) {
    if (knot.sizes[i] < knot.least) knot.least = knot.sizes[i];
  }
}

// Moves the duals of the knot's rows to where D is largest, all others as they are.
void untie(const ProblemView& problem, const Knot& knot, const DualPoint& at);

}  // namespace pegasos
