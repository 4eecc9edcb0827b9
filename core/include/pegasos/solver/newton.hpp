// The passes over rows of Newton's method on the smoothed hinge, for one lane, in blocks and on
// threads. The equations are in newton_rows.hpp.
#pragma once

#include "pegasos/problem.hpp"
#include "pegasos/solver/newton_rows.hpp"

namespace pegasos {

// Steps by `step` along the direction in hand, then looks at the rows. Adds to a (d + 1) x (d + 1)
// matrix sum D z z', z = (x, constant), its upper triangle, and to the d + 1 values behind it the
// change of sum a y x. Only rows whose dual changes, or that are curved, are read.
NewtonSums newton_point(const ProblemView& problem, const NewtonRows& rows, Span span, double step,
                        const Widths& widths, double constant, double* matrix_and_vector);

// Fills in the change of the slacks along (dw, db).
void newton_along(const ProblemView& problem, const NewtonRows& rows, Span span, const double* dw,
                  double db);

// Looks ahead along the direction; reads no row.
LineSums newton_line(const ProblemView& problem, const NewtonRows& rows, Span span, double step,
                     double width);

}  // namespace pegasos
