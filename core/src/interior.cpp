#include "pegasos/solver/interior.hpp"

#include "pegasos/solver/interior_blocks.hpp"

namespace pegasos {
namespace {

using std::int64_t;

// A pass: products with w (if given), visit(batch, sum) for runs of consecutive rows, then the
// factors it left times the rows, added to `vectors` vectors of d + 1 in out.
template <class Sum, class Visit>
Sum pass(const ProblemView& problem, Span span, const double* w, double b, int64_t vectors,
         double* out, const Visit& visit) {
  const BlockProducts multiply(problem.rows);
  const bool squared = problem.loss == Loss::squared_hinge;
  const auto all = [](int64_t) { return true; };
  const auto share_of = [&](Span share, double* to, Sum& sum) {
    each_block(problem, share, all, [&](InteriorBlock& block) {
      if (w != nullptr) multiply.products(block, w);
      for (int64_t k = 0; k < block.size;) {
        const int64_t first = k;
        while (++k < block.size && block.ids[k] == block.ids[k - 1] + 1) {
        }
        visit(InteriorBatch{block.ids[first], k - first, squared, block.y + first, block.c + first,
                            block.products + first, b, block.factors + first},
              sum);
      }
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
      [&](const InteriorBatch& batch, PointSums& sums) { kernels.point(rows, batch, step, sums); });
}

AffineSums interior_affine(const ProblemView& problem, const InteriorRows& rows, Span span,
                           const double* dw, double db, double* second) {
  const InteriorKernels& kernels = interior_kernels();
  return pass<AffineSums>(
      problem, span, dw, db, 1, second,
      [&](const InteriorBatch& batch, AffineSums& sums) { kernels.affine(rows, batch, sums); });
}

StepLengths interior_direction(const ProblemView& problem, const InteriorRows& rows, Span span,
                               const InteriorDirection& direction, double mu, const double* dw,
                               double db) {
  const InteriorKernels& kernels = interior_kernels();
  return pass<StepLengths>(problem, span, dw, db, 0, nullptr,
                           [&](const InteriorBatch& batch, StepLengths& steps) {
                             kernels.direction(rows, direction, batch, mu, steps);
                           });
}

double interior_correct(const ProblemView& problem, const InteriorRows& rows, Span span, double mu,
                        const StepLengths& enlarged, double* rhs) {
  const InteriorKernels& kernels = interior_kernels();
  return pass<double>(problem, span, nullptr, 0.0, 1, rhs,
                      [&](const InteriorBatch& batch, double& sum) {
                        kernels.correct(rows, batch, mu, enlarged, sum);
                      });
}

}  // namespace pegasos
