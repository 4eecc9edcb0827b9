// Sums of rows by their duals are those of a list of the rows that have one, to the last bit.
#include "harness.hpp"
#include "pegasos/row_sums.hpp"
#include "toy.hpp"

using namespace toy;

TEST(sums_by_duals_are_those_of_a_list_of_rows) {
  for (int64_t threads : {1, 2, 3, 7}) {
    for (int64_t of : {1, 2, 50}) {  // one of so many rows has a dual
      CONTEXT("threads " << threads << ", one of " << of);
      ToyProblem problem({.n = 3000, .absent = true});
      problem.view.threads = threads;
      Random random(3);
      std::vector<double> a(3000), factors;
      std::vector<std::uint32_t> rows;
      for (std::uint32_t row = 0; row < 3000; ++row) {
        if (random.below(of) != 0) continue;
        a[row] = random.real(0.0, 1.0);
        rows.push_back(row);
        factors.push_back(a[row] * problem.view.side(row, 0) / problem.s[0]);
      }
      std::vector<double> expected(problem.weights_size(), 0.25), found = expected;
      add_rows(problem.view, rows.data(), static_cast<int64_t>(rows.size()), factors.data(),
               expected.data());
      add_duals(problem.view, a.data(), found.data());
      CHECK(found == expected);
      if (rows.size() > 100) CHECK(found[0] != 0.25);
    }
  }
}

TEST(no_dual_adds_nothing) {
  ToyProblem problem({});
  const std::vector<double> a(40);
  std::vector<double> sum(problem.weights_size(), 0.25);
  add_duals(problem.view, a.data(), sum.data());
  CHECK(sum == std::vector<double>(sum.size(), 0.25));
}
