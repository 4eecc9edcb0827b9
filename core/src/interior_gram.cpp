#include <cmath>

#include "pegasos/solver/interior_blocks.hpp"

namespace pegasos {
namespace {

using std::int64_t;

constexpr int64_t kMatrixBytes = 32 << 20;  // that the threads' own matrices may always take

}  // namespace

void interior_gram(const ProblemView& problem, const InteriorRows& rows, Span span, double constant,
                   const Weightless& limits, double* gram) {
  const BlockProducts multiply(problem.rows);
  const int64_t d = problem.rows.d();
  const int64_t size = (d + 1) * (d + 1);
  // Each thread but the first has a matrix of its own: two threads always, more if they are small.
  const int64_t most = std::max<int64_t>(2, kMatrixBytes / (8 * size));
  in_shares<double>(problem, span, most, size, gram, [&](Span share, double* out, double&) {
    const bool dense = multiply.dense() != nullptr;
    std::vector<double> scratch(static_cast<std::size_t>(dense ? packed_size(d) : d + 1));
    double total = 0.0;
    const auto wanted = [&](int64_t i) {
      const double scale = rows.scale[i];
      return scale > limits.thin || scale * problem.squared_norms[i] > limits.light;
    };
    each_block(problem, share, wanted, [&](InteriorBlock& block) {
      for (int64_t k = 0; k < block.size; ++k) {
        const double scale = rows.scale[block.ids[k]];
        block.factors[k] = dense ? std::sqrt(scale) : scale;
        total += scale;
      }
      if (dense) {
        multiply.dense()->gram(problem.rows.view(), block.ids, block.size, block.factors, constant,
                               scratch.data(), out);
        return;
      }
      for (int64_t k = 0; k < block.size; ++k) {
        problem.rows.outer(block.ids[k], block.factors[k], out);
      }
      multiply.add(block, 1, scratch.data());
    });
    if (dense) return;
    for (int64_t j = 0; j < d; ++j) out[j * (d + 1) + d] += constant * scratch[j];
    out[size - 1] += constant * constant * total;
  });
}

}  // namespace pegasos
