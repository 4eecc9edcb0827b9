// The row variables of Newton's method on the smoothed hinge, and what each pass does to them.
//
// The loss of a slack m = o - y (w.x + b) is rounded off within `width` of its kinks; of the hinge,
//
//   dual  a = c min(1, max(0, (m + width) / 2 width)),   curvature c / 2 width where |m| < width
//
// so that a is in the box whatever m is. A loss without kinks is smooth by itself.
#pragma once

#include <cstdint>

#include "pegasos/row_batch.hpp"

namespace pegasos {

// One value per row; those of rows that are not in the lane are never looked at.
struct NewtonRows {
  double* slack;   // m
  double* change;  // of m along the direction in hand
};

// The rounding of the duals that were summed up last (0: none were), and of those to come.
struct Widths {
  double before, now;
};

// What the rows amount to at a point.
struct NewtonSums {
  double loss = 0.0;     // sum phi(m)
  double dual = 0.0;     // sum o a - kappa a^2 / 2
  double rounded = 0.0;  // sum of loss - dual + a (o - m): what rounding leaves between P and D
  double balance = 0.0;  // sum a y
};

// The derivatives of the smoothed loss along the direction.
struct LineSums {
  double slope = 0.0;
  double curvature = 0.0;
};

// The arithmetic of rows, compiled for one instruction set. Sums are added to.
struct NewtonKernels {
  // Steps; leaves the change of a y, and the curvature, in the batch's factors.
  void (*point)(const NewtonRows&, const RowBatch&, double step, const Widths&, NewtonSums&);
  void (*along)(const NewtonRows&, const RowBatch&);
  void (*line)(const NewtonRows&, const RowBatch&, double step, double width, LineSums&);
};

const NewtonKernels& newton_kernels();

}  // namespace pegasos
