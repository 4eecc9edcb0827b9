#include "pegasos/solver/newton.hpp"

#include "pegasos/row_blocks.hpp"

namespace pegasos {

static void merge(NewtonSums& to, const NewtonSums& from) {
  to.loss += from.loss;
  to.dual += from.dual;
  to.rounded += from.rounded;
  to.balance += from.balance;
}

static void merge(LineSums& to, const LineSums& from) {
  to.slope += from.slope;
  to.curvature += from.curvature;
}

namespace {

using std::int64_t;

// Rows picked out of blocks, with a factor each.
template <class Flush>
class Picked {
 public:
  explicit Picked(const Flush& flush) : flush_(flush) {}
  void pick(int64_t row, double factor) {
    block_.ids[block_.size] = row;
    block_.factors[block_.size] = factor;
    if (++block_.size == kBlockRows) flush();
  }
  void flush() {
    if (block_.size > 0) flush_(block_);
    block_.size = 0;
  }

 private:
  const Flush& flush_;
  RowBlock block_;
};

}  // namespace

NewtonSums newton_point(const ProblemView& problem, const NewtonRows& rows, Span span, double step,
                        const Widths& widths, double constant, double* matrix_and_vector) {
  const NewtonKernels& kernels = newton_kernels();
  const BlockProducts multiply(problem.rows);
  const int64_t d1 = problem.rows.weight_rows();
  const int64_t size = d1 * d1 + d1;
  const auto share_of = [&](Span share, double* out, NewtonSums& sums) {
    BlockGram gram(multiply, problem.rows, constant, out);
    const auto add_change = [&](RowBlock& block) { multiply.add(block, 1, out + d1 * d1); };
    const auto add_curved = [&](RowBlock& block) { gram.add(block); };
    Picked changed(add_change);
    Picked curved(add_curved);
    each_block(problem, share, [&](RowBlock& block) {
      each_batch(block, problem.loss, 0.0,
                 [&](const RowBatch& batch) { kernels.point(rows, batch, step, widths, sums); });
      const double* change = block.factors;
      const double* curvature = block.factors + kBlockRows;
      for (int64_t k = 0; k < block.size; ++k) {
        // Not a number counts as a change: it must not be hidden.
        if (!(change[k] == 0.0)) changed.pick(block.ids[k], change[k]);
        if (curvature[k] > 0.0) curved.pick(block.ids[k], curvature[k]);
      }
    });
    changed.flush();
    curved.flush();
    gram.finish();
  };
  return in_shares<NewtonSums>(problem, span, BlockGram::most_threads(size), size,
                               matrix_and_vector, share_of);
}

void newton_along(const ProblemView& problem, const NewtonRows& rows, Span span, const double* dw,
                  double db) {
  const NewtonKernels& kernels = newton_kernels();
  const BlockProducts multiply(problem.rows);
  const auto share_of = [&](Span share, double*, double&) {
    each_block(problem, share, [&](RowBlock& block) {
      multiply.products(block, dw);
      each_batch(block, problem.loss, db,
                 [&](const RowBatch& batch) { kernels.along(rows, batch); });
    });
  };
  in_shares<double>(problem, span, problem.threads, 0, nullptr, share_of);
}

LineSums newton_line(const ProblemView& problem, const NewtonRows& rows, Span span, double step,
                     double width) {
  const NewtonKernels& kernels = newton_kernels();
  const auto share_of = [&](Span share, double*, LineSums& sums) {
    each_block(problem, share, [&](RowBlock& block) {
      each_batch(block, problem.loss, 0.0,
                 [&](const RowBatch& batch) { kernels.line(rows, batch, step, width, sums); });
    });
  };
  return in_shares<LineSums>(problem, span, problem.threads, 0, nullptr, share_of);
}

}  // namespace pegasos
