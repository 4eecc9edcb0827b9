// Sums of some of the rows, one lane, on the problem's threads.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"

namespace pegasos {

// out += sum of factors[i] x_{rows[i]}
void add_rows(const ProblemView& problem, const std::uint32_t* rows, std::int64_t count,
              const double* factors, double* out);

// out += sum of a y x / s over all rows, in the same shares of those with a dual.
void add_duals(const ProblemView& problem, const double* a, double* out);

}  // namespace pegasos
