#include "pegasos/row_sums.hpp"

#include <algorithm>
#include <vector>

#include "pegasos/parallel.hpp"

namespace pegasos {

using std::int64_t;

namespace {

constexpr int64_t kAhead = 8;
constexpr int64_t kWorthThread = 512;  // rows

int64_t parts_of(const ProblemView& problem, int64_t count) {
  return std::max<int64_t>(1, std::min(problem.threads, count / kWorthThread));
}

// Calls body(i) for the part's share, rows on their way from memory.
template <class Body>
void each_of_part(const ProblemView& problem, const std::uint32_t* rows, int64_t count,
                  int64_t parts, int64_t part, const Body& body) {
  const int64_t end = share_begin(count, parts, part + 1);
  for (int64_t i = share_begin(count, parts, part); i < end; ++i) {
    if (i + kAhead < end) problem.rows.prefetch(rows[i + kAhead]);
    body(i);
  }
}

}  // namespace

void add_rows(const ProblemView& problem, const std::uint32_t* rows, int64_t count,
              const double* factors, double* out) {
  const int64_t parts = parts_of(problem, count);
  const int64_t size = problem.rows.weight_rows();
  std::vector<double> buffers(static_cast<std::size_t>((parts - 1) * size));
  in_parallel(parts, [&](int64_t part) {
    double* sum = part == 0 ? out : buffers.data() + (part - 1) * size;
    each_of_part(problem, rows, count, parts, part, [&](int64_t i) {
      if (factors[i] != 0.0) problem.rows.axpy(rows[i], &factors[i], sum, 1);
    });
  });
  for (int64_t part = 1; part < parts; ++part) {
    const double* buffer = buffers.data() + (part - 1) * size;
    for (int64_t j = 0; j < size; ++j) out[j] += buffer[j];
  }
}

}  // namespace pegasos
