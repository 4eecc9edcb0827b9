// The passes over rows of the primal-dual interior point method, for one lane.
//
// The slack form of the hinge: minimise s/2 |w|^2 + sum c xi subject to r = g + xi >= 0, xi >= 0,
// g = y (w.x + b) - 1, with duals a of the first constraint and v = c - a of the second. Newton's
// system is reduced to w (and b); what is left per row is here, fused with the row products:
//
//   da = D (ra/a - rv/v - (g + xi - r) - y (dw.x + db)),   D = 1 / (r/a + xi/v)
//   dr = (ra - r da) / a,   dxi = (rv + xi da) / v         a dr + r da = ra,  v dxi - xi da = rv
//
// The squared hinge, sum c xi^2, has xi = a / 2c, and no second constraint. With v = a and rv = 0
// the same equations hold.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"

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
  double* g;                // margin - 1
  double* scale;            // D
  InteriorDirection now;    // the direction in hand
  InteriorDirection other;  // the one tried instead of it
};

struct Span {
  std::int64_t lo, hi;
};

// What the rows amount to at a point.
struct PointSums {
  double complementarity = 0.0;  // sum a r + v xi
  double loss = 0.0;             // sum c max(0, -g)^p
  double dual = 0.0;             // sum a (- a^2 / 4c)
  double balance = 0.0;          // sum a y
  double scale = 0.0;            // sum D
  double affine = 0.0;           // sum t, where sum t x is the affine right-hand side
  double centre = 0.0;           // its derivative by mu
};

// Steps by `step` along the direction in hand, then looks at the rows from (w, b). Adds to three
// vectors of d + 1: sum a y x, the affine right-hand side sum t x, and its derivative by mu.
PointSums interior_point(const ProblemView& problem, const InteriorRows& rows, Span span,
                         double step, const double* w, double b, double* vectors);

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
// Looks along the affine direction (dw, db) and sets the targets, but for mu, with its
// second-order terms; adds what these are in the right-hand side to `second`.
AffineSums interior_affine(const ProblemView& problem, const InteriorRows& rows, Span span,
                           const double* dw, double db, double* second);

// Adds mu to the targets of `direction` and fills in its da for (dw, db).
StepLengths interior_direction(const ProblemView& problem, const InteriorRows& rows, Span span,
                               const InteriorDirection& direction, double mu, const double* dw,
                               double db);

// Gondzio: sets the other targets so that products beyond [mu/10, 10 mu] at the enlarged steps are
// pulled back. Adds the change of the right-hand side to rhs, and returns its sum t.
double interior_correct(const ProblemView& problem, const InteriorRows& rows, Span span, double mu,
                        const StepLengths& enlarged, double* rhs);

// Adds sum D z z', z = (x, constant), to the upper triangle of a (d + 1) x (d + 1) matrix; rows
// with D |x|^2 <= light and D <= thin are left out.
struct Weightless {
  double light, thin;
};
void interior_gram(const ProblemView& problem, const InteriorRows& rows, Span span, double constant,
                   const Weightless& limits, double* gram);

}  // namespace pegasos
