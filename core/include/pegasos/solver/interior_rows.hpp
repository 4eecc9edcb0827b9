// The row variables of the interior point method, and what each pass does to them one row at a
// time.
//
// The slack form of the hinge: minimise s/2 |w|^2 + sum c xi subject to r = g + xi >= 0, xi >= 0,
// g = y (w.x + b) - o, with duals a of the first constraint and v = c - a of the second. Newton's
// system is reduced to w (and b); what is left per row is here, fused with the row products:
//
//   da = D (ra/a - rv/v - (g + xi - r) - y (dw.x + db)),   D = 1 / (r/a + xi/v)
//   dr = (ra - r da) / a,   dxi = (rv + xi da) / v         a dr + r da = ra,  v dxi - xi da = rv
//
// A loss whose dual has no upper bound has no second constraint, and xi = kappa a. With v = a and
// rv = 0 the same equations hold.
#pragma once

#include <cstdint>

#include "pegasos/row_batch.hpp"

namespace pegasos {

// Targets and the direction that belongs to them.
struct InteriorDirection {
  double* ra;
  double* rv;
  double* da;
};

// One value per row; those of rows that are not in the lane are never looked at.
struct InteriorRows {
  double* a;                // dual of the margin, > 0
  double* v;                // c - a > 0, kept apart: near c the difference would lose its digits
  double* r;                // slack of the margin, > 0
  double* xi;               // loss variable, > 0
  double* g;                // y (w.x + b) - o: -slack
  double* scale;            // D
  InteriorDirection now;    // the direction in hand
  InteriorDirection other;  // the one tried instead of it
  double share;             // a r is aimed at share * mu, v xi at mu
};

// What the rows amount to at a point.
struct PointSums {
  double complementarity = 0.0;  // sum a r + v xi
  double loss = 0.0;             // sum phi(-g)
  double dual = 0.0;             // sum o a - kappa a^2 / 2
  double balance = 0.0;          // sum a y
  double scale = 0.0;            // sum D
  double affine = 0.0;           // sum t, where sum t x is the affine right-hand side
  double centre = 0.0;           // its derivative by mu
};

// The largest steps in [0, 1] that keep r, xi (primal) and a, v (dual) positive.
struct StepLengths {
  double primal = 1.0;
  double dual = 1.0;
};

// Complementarity after steps (p, q) is that of the point + p primal + q dual + p q both.
struct AffineSums {
  StepLengths steps;
  double primal = 0.0, dual = 0.0, both = 0.0;
  double second = 0.0;  // sum t of the second-order terms
};

// The arithmetic between two products with the rows, compiled for one instruction set. Sums are
// added to, steps shortened.
struct InteriorKernels {
  void (*point)(const InteriorRows&, const RowBatch&, double step, PointSums&);
  void (*affine)(const InteriorRows&, const RowBatch&, AffineSums&);
  void (*direction)(const InteriorRows&, const InteriorDirection&, const RowBatch&, double mu,
                    StepLengths&);
  void (*correct)(const InteriorRows&, const RowBatch&, double mu, const StepLengths& enlarged,
                  double& sum);
};

const InteriorKernels& interior_kernels();

}  // namespace pegasos
