// The passes over rows of the primal-dual interior point method, for one lane.
//
// The slack form: minimise s/2 |w|^2 + sum c xi subject to r = y (w.x + b) - 1 + xi >= 0, xi >= 0,
// with duals a of the first constraint and v = c - a of the second. Each Newton system is reduced
// to w (and b); what is left per row is here, fused with the row products.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"

namespace pegasos {

// One value per row; rows that are not in the lane keep zeros.
struct InteriorRows {
  double* a;      // dual of the margin, > 0
  double* v;      // c - a > 0, kept apart: near c the difference would lose its digits
  double* r;      // slack of the margin, > 0
  double* xi;     // loss variable, > 0
  double* rp;     // y (w.x + b) - 1 + xi - r: what the slacks miss
  double* scale;  // 1 / (r/a + xi/v): the row's weight in the Gram matrix
  double* ra;     // targets: a dr + r da = ra
  double* rv;     //          v dxi - xi da = rv
  double* da;     // the direction in hand
  double* dr;
  double* dxi;
};

struct InteriorSums {
  double complementarity;  // sum a r + v xi
  double loss;             // sum c max(0, 1 - y (w.x + b))
  double dual;             // sum a
  double balance;          // sum a y
};

// At (w, b): fills rp and scale, adds sum a y x to u.
InteriorSums interior_residuals(const ProblemView& problem, std::int64_t lo, std::int64_t hi,
                                const double* w, double b, const InteriorRows& rows, double* u);

// How the targets ra, rv are set before a right-hand side is built.
enum class Target : std::uint8_t {
  affine,     // towards zero complementarity
  centred,    // towards mu, with the second-order terms of the direction in hand
  corrected,  // Gondzio: products beyond [mu/10, 10 mu] at an enlarged step are pulled back
};
struct Aim {
  Target target;
  double mu;
  double primal_step;  // corrected: the enlarged steps
  double dual_step;
};

// Sets the targets and adds sum t x to rhs, t = scale (ra/a - rv/v - rp) y; returns sum t.
double interior_targets(const ProblemView& problem, std::int64_t lo, std::int64_t hi,
                        const Aim& aim, const InteriorRows& rows, double* rhs);

struct StepLengths {
  double primal;  // largest steps in [0, 1] that keep r, xi and a, v positive
  double dual;
};

// The direction that belongs to (dw, db).
StepLengths interior_direction(const ProblemView& problem, std::int64_t lo, std::int64_t hi,
                               const double* dw, double db, const InteriorRows& rows);

// Sum of a r + v xi after a step along the direction.
double interior_complementarity(const ProblemView& problem, std::int64_t lo, std::int64_t hi,
                                const StepLengths& step, const InteriorRows& rows);

void interior_step(const ProblemView& problem, std::int64_t lo, std::int64_t hi,
                   const StepLengths& step, const InteriorRows& rows);

// Adds sum scale x x' to the upper triangle of gram (d x d) and sum scale x to border (d).
void interior_gram(const ProblemView& problem, std::int64_t lo, std::int64_t hi,
                   const double* scale, double* gram, double* border);

}  // namespace pegasos
