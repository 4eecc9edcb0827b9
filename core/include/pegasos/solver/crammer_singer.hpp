// The multi-class SVM of Crammer & Singer (2001), by the sequential dual method of Keerthi et al.
// (2008): one problem for all classes,
//     min  s/2 sum_k |w_k|^2 + sum_i c_i max(0, max_{k != y_i} 1 + w_k.x_i - w_{y_i}.x_i),
//     max  sum_i a_{i y_i} - s/2 sum_k |w_k|^2,   w_k = 1/s sum_i +-a_ik x_i (+ for k = y_i),
//          a_ik >= 0,   sum_{k != y_i} a_ik = a_{i y_i} <= c_i.
// A step moves all duals of a row to where D is largest: up to a shift of the products, they are
// projected to a simplex. Lanes are the classes, labelled one against the rest; s is that of the
// first, c_i comes from the row's own class.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"

namespace pegasos {

struct JointCursor {
  std::int64_t seen;    // rows visited since the start
  std::int64_t steps;   // the same
  std::int64_t active;  // rows in the list
  std::int64_t place;   // visits of this pass
  std::int64_t draws;   // random numbers used
  std::int64_t recall;  // whether all rows come back with the next pass
  std::int64_t idle;    // passes over all rows, the last ones, in which nothing moved
};

// What a pass met, and the last one.
struct JointPass {
  double gap;         // sum of what each row adds to P - D
  double moved;       // largest change of a product, |x|^2 / s times that of a dual
  double last_gap;    // of the last whole pass
  double last_moved;  // the same, or infinite: nothing leaves the list
};

struct JointState {
  double* W;            // weight rows x stride
  double* duals;        // n x lanes
  std::uint32_t* rows;  // n: the list
  std::uint8_t* leaving;
  JointCursor* cursor;
  JointPass* pass;
};

// Visits rows until a stop is reached (true) or out of work (false).
bool advance(const ProblemView& problem, std::uint64_t seed, const JointState& state,
             const Budget& budget);

}  // namespace pegasos
