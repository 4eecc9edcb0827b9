// A Cholesky factor in panels: solutions solve, in every instruction set and on any number of
// threads with the same bits; matrices that have no factor are told.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness.hpp"
#include "pegasos/cholesky.hpp"
#include "pegasos/rows.hpp"
#include "toy.hpp"

using namespace pegasos;
using namespace toy;

namespace {

// Z Z' for random Z, of as many columns as rows; the lower triangle is never to be read.
std::vector<double> random_matrix(int64_t size, int64_t rank) {
  Random random(5);
  std::vector<double> z(static_cast<std::size_t>(size * rank));
  for (double& value : z) value = random.real(-1.0, 1.0);
  std::vector<double> out(static_cast<std::size_t>(size * size),
                          std::numeric_limits<double>::quiet_NaN());
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = i; j < size; ++j) {
      double sum = 0.0;
      for (int64_t k = 0; k < rank; ++k) sum += z[i * rank + k] * z[j * rank + k];
      out[i * size + j] = sum;
    }
  }
  return out;
}

std::vector<double> factor_of(const Raised& raised, int64_t threads, bool& found) {
  std::vector<double> factor(static_cast<std::size_t>(factor_size(raised.size)));
  found = cholesky(raised, threads, factor.data());
  return factor;
}

}  // namespace

TEST(solutions_by_a_factor_solve_the_raised_system) {
  const InstructionSet before = instruction_set();
  for (auto set : {InstructionSet::baseline, InstructionSet::x86_64_v2, InstructionSet::x86_64_v3,
                   InstructionSet::x86_64_v4}) {
    if (!available(set)) continue;
    use_instruction_set(set);
    for (int64_t size : {1, 2, 7, 8, 9, 16, 31, 100}) {
      CONTEXT(name(set) << " size " << size);
      const std::vector<double> matrix = random_matrix(size, size);
      const Raised raised{matrix.data(), size, 0.5, 0.25, 1e-3};
      bool found = false;
      const std::vector<double> factor = factor_of(raised, 1, found);
      CHECK(found);
      Random random(6);
      std::vector<double> rhs(static_cast<std::size_t>(padded(size)));
      for (int64_t i = 0; i < size; ++i) rhs[i] = random.real(-1.0, 1.0);
      std::vector<double> x = rhs;
      cholesky_solve(size, factor.data(), x.data());
      for (int64_t i = 0; i < size; ++i) {
        double sum = 0.0;
        for (int64_t j = 0; j < size; ++j) {
          double entry = matrix[std::min(i, j) * size + std::max(i, j)];
          if (i == j) entry = (entry + (i + 1 < size ? 0.5 : 0.25)) * (1.0 + 1e-3);
          sum += entry * x[j];
        }
        CHECK_CLOSE(sum, rhs[i], 1e-11 * static_cast<double>(size));
      }
      for (std::size_t i = static_cast<std::size_t>(size); i < x.size(); ++i) CHECK(x[i] == 0.0);
    }
  }
  use_instruction_set(before);
}

TEST(a_factor_has_the_same_bits_on_any_number_of_threads) {
  const int64_t size = 401;
  std::vector<double> matrix(static_cast<std::size_t>(size * size));
  Random random(7);
  for (double& value : matrix) value = random.real(-1.0, 1.0);
  bool found = false;
  const Raised raised{matrix.data(), size, 500.0, 500.0, 0.0};
  const std::vector<double> one = factor_of(raised, 1, found);
  CHECK(found);
  for (int64_t threads : {2, 3, 40}) CHECK(factor_of(raised, threads, found) == one && found);
}

TEST(a_factor_is_written_over_what_was_there) {
  for (int64_t size : {5, 20, 33}) {
    CONTEXT("size " << size);
    const std::vector<double> matrix = random_matrix(size, size);
    const Raised raised{matrix.data(), size, 0.5, 0.5, 0.0};
    bool found = false;
    const std::vector<double> once = factor_of(raised, 1, found);
    std::vector<double> again = once;
    Raised wrong = raised;
    wrong.penalty = -100.0;
    CHECK(!cholesky(wrong, 1, again.data()));
    CHECK(cholesky(raised, 1, again.data()));
    CHECK(again == once);
  }
}

TEST(a_matrix_that_is_not_positive_definite_has_no_factor) {
  bool found = true;
  const int64_t size = 20;
  std::vector<double> matrix = random_matrix(size, size);
  matrix[13 * size + 13] = -1.0;
  factor_of({matrix.data(), size, 0.0, 0.0, 0.0}, 1, found);
  CHECK(!found);
  matrix[13 * size + 13] = std::numeric_limits<double>::quiet_NaN();
  factor_of({matrix.data(), size, 0.0, 0.0, 0.0}, 1, found);
  CHECK(!found);
  const std::vector<double> zeros(static_cast<std::size_t>(size * size));
  factor_of({zeros.data(), size, 0.0, 0.0, 0.0}, 1, found);
  CHECK(!found);
}
