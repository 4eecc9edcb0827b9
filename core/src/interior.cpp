#include "pegasos/solver/interior.hpp"

#include <algorithm>

#include "pegasos/row_blocks.hpp"

namespace pegasos {

static void merge(PointSums& to, const PointSums& from) {
  to.complementarity += from.complementarity;
  to.loss += from.loss;
  to.dual += from.dual;
  to.balance += from.balance;
  to.scale += from.scale;
  to.affine += from.affine;
  to.centre += from.centre;
}

static void merge(StepLengths& to, const StepLengths& from) {
  to.primal = std::min(to.primal, from.primal);
  to.dual = std::min(to.dual, from.dual);
}

static void merge(AffineSums& to, const AffineSums& from) {
  merge(to.steps, from.steps);
  to.primal += from.primal;
  to.dual += from.dual;
  to.both += from.both;
  to.second += from.second;
}

namespace {

using std::int64_t;

// A pass: products with w (if given), visit(batch, sum) for runs of consecutive rows, then the
// factors it left times the rows, added to `vectors` vectors of d + 1 in out.
template <class Sum, class Visit>
Sum pass(const ProblemView& problem, Span span, const double* w, double b, int64_t vectors,
         double* out, const Visit& visit) {
  const BlockProducts multiply(problem.rows);
  const auto share_of = [&](Span share, double* to, Sum& sum) {
    each_block(problem, share, [&](RowBlock& block) {
      if (w != nullptr) multiply.products(block, w);
      each_batch(block, problem.loss, b, [&](const RowBatch& batch) { visit(batch, sum); });
      if (vectors == 1) BlockProducts::leave_out_zeros(block);  // correctors touch few rows
      if (vectors > 0) multiply.add(block, vectors, to);
    });
  };
  const int64_t size = vectors * problem.rows.weight_rows();
  return in_shares<Sum>(problem, span, problem.threads, size, out, share_of);
}

}  // namespace

PointSums interior_point(const ProblemView& problem, const InteriorRows& rows, Span span,
                         double step, const double* w, double b, double* vectors) {
  const InteriorKernels& kernels = interior_kernels();
  return pass<PointSums>(
      problem, span, w, b, 3, vectors,
      [&](const RowBatch& batch, PointSums& sums) { kernels.point(rows, batch, step, sums); });
}

AffineSums interior_affine(const ProblemView& problem, const InteriorRows& rows, Span span,
                           const double* dw, double db, double* second) {
  const InteriorKernels& kernels = interior_kernels();
  return pass<AffineSums>(
      problem, span, dw, db, 1, second,
      [&](const RowBatch& batch, AffineSums& sums) { kernels.affine(rows, batch, sums); });
}

StepLengths interior_direction(const ProblemView& problem, const InteriorRows& rows, Span span,
                               const InteriorDirection& direction, double mu, const double* dw,
                               double db) {
  const InteriorKernels& kernels = interior_kernels();
  return pass<StepLengths>(problem, span, dw, db, 0, nullptr,
                           [&](const RowBatch& batch, StepLengths& steps) {
                             kernels.direction(rows, direction, batch, mu, steps);
                           });
}

double interior_correct(const ProblemView& problem, const InteriorRows& rows, Span span, double mu,
                        const StepLengths& enlarged, double* rhs) {
  const InteriorKernels& kernels = interior_kernels();
  return pass<double>(problem, span, nullptr, 0.0, 1, rhs, [&](const RowBatch& batch, double& sum) {
    kernels.correct(rows, batch, mu, enlarged, sum);
  });
}

template <class L>
static void trial(L loss, const ProblemView& problem, const InteriorRows& rows, Span span,
                  const double* factors, int64_t count, double* sums) {
  const auto share_of = [&](Span share, double* out, double&) {
    each_block(problem, share, [&](RowBlock& block) {
      for (int64_t k = 0; k < block.size; ++k) {
        const int64_t i = block.ids[k];
        const double g = rows.g[i];
        if (!(rows.scale[i] > 0.0)) continue;  // of a weight whose square is 0
        // da = D (h - along)
        const double h =
            rows.now.ra[i] / rows.a[i] - rows.now.rv[i] / rows.v[i] - (g + rows.xi[i] - rows.r[i]);
        const double along = h - rows.now.da[i] / rows.scale[i];
        for (int64_t t = 0; t < count; ++t) {
          out[t] += loss.value(std::max(0.0, -g - factors[t] * along), block.c[k]);
        }
        out[block.y[k] > 0.0 ? count : count + 1] += block.c[k] * along;
      }
    });
  };
  in_shares<double>(problem, span, problem.threads, count + 2, sums, share_of);
}

void interior_trial(const ProblemView& problem, const InteriorRows& rows, Span span,
                    const double* factors, int64_t count, double* sums) {
  with_loss(problem.loss,
            [&](auto loss) { trial(loss, problem, rows, span, factors, count, sums); });
}

void interior_slacken(const ProblemView& problem, const InteriorRows& rows, Span span,
                      double slack) {
  each_block(problem, span, [&](RowBlock& block) {
    for (int64_t k = 0; k < block.size; ++k) {
      const int64_t i = block.ids[k];
      rows.r[i] = std::max(rows.r[i], slack);
      rows.xi[i] = std::max(rows.xi[i], slack);
    }
  });
}

void interior_gram(const ProblemView& problem, const InteriorRows& rows, Span span, double constant,
                   const Weightless& limits, double* gram) {
  const BlockProducts multiply(problem.rows);
  const int64_t size = problem.rows.weight_rows() * problem.rows.weight_rows();
  const auto wanted = [&](int64_t i) {
    const double scale = rows.scale[i];
    return scale > limits.thin || scale * problem.squared_norms[i] > limits.light;
  };
  in_shares<double>(problem, span, BlockGram::most_threads(size), size, gram,
                    [&](Span share, double* out, double&) {
                      BlockGram sum(multiply, problem.rows, constant, out);
                      each_block(problem, share, wanted, [&](RowBlock& block) {
                        for (int64_t k = 0; k < block.size; ++k) {
                          block.factors[k] = rows.scale[block.ids[k]];
                        }
                        sum.add(block);
                      });
                      sum.finish();
                    });
}

}  // namespace pegasos
