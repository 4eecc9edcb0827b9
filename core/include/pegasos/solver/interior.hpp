// The passes over rows of the primal-dual interior point method, for one lane, in blocks and on
// threads. The equations are in interior_rows.hpp.
#pragma once

#include "pegasos/problem.hpp"
#include "pegasos/solver/interior_rows.hpp"

namespace pegasos {

// Steps by `step` along the direction in hand, then looks at the rows from (w, b). Adds to three
// vectors of d + 1: sum a y x, the affine right-hand side sum t x, and its derivative by mu.
PointSums interior_point(const ProblemView& problem, const InteriorRows& rows, Span span,
                         double step, const double* w, double b, double* vectors);

// Looks along the affine direction (dw, db) and sets the targets, but for mu, with its
// second-order terms; adds what these are in the right-hand side to `second`.
AffineSums interior_affine(const ProblemView& problem, const InteriorRows& rows, Span span,
                           const double* dw, double db, double* second);

// Adds mu, or the rows' share of it, to the targets of `direction` and fills in its da for (dw,
// db).
StepLengths interior_direction(const ProblemView& problem, const InteriorRows& rows, Span span,
                               const InteriorDirection& direction, double mu, const double* dw,
                               double db);

// Gondzio: sets the other targets so that products beyond a tenth to ten times what they are aimed
// at are pulled back, at the enlarged steps. Adds the change of the right-hand side to rhs, and
// returns its sum t.
double interior_correct(const ProblemView& problem, const InteriorRows& rows, Span span, double mu,
                        const StepLengths& enlarged, double* rhs);

// Adds, for each factor t, the loss at t times the direction in hand, and last the sums of
// c x (change of the margin along it) of the rows with y = +1, and of those with y = -1.
void interior_trial(const ProblemView& problem, const InteriorRows& rows, Span span,
                    const double* factors, std::int64_t count, double* sums);

// Raises the slacks r and xi of all rows to `slack`; only where xi is free, that is of a bounded
// loss.
void interior_slacken(const ProblemView& problem, const InteriorRows& rows, Span span,
                      double slack);

// Adds sum D z z', z = (x, constant), to the upper triangle of a (d + 1) x (d + 1) matrix; rows
// with D |x|^2 <= light and D <= thin are left out.
struct Weightless {
  double light, thin;
};
void interior_gram(const ProblemView& problem, const InteriorRows& rows, Span span, double constant,
                   const Weightless& limits, double* gram);

}  // namespace pegasos
