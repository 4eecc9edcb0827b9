#include "pegasos/row_sums.hpp"

#include <algorithm>
#include <vector>

#include "pegasos/parallel.hpp"

namespace pegasos {

using std::int64_t;

namespace {

constexpr int64_t kAhead = 8;
constexpr int64_t kWorthThread = 512;  // rows
constexpr int64_t kBatch = 256;

// out += factors[i] x_{rows[i]} for i in lo..hi-1, rows on their way from memory.
void add_some(const ProblemView& problem, const std::uint32_t* rows, const double* factors,
              int64_t lo, int64_t hi, double* out) {
  for (int64_t i = lo; i < hi; ++i) {
    if (i + kAhead < hi) problem.rows.prefetch(rows[i + kAhead]);
    if (factors[i] != 0.0) problem.rows.axpy(rows[i], &factors[i], out, 1);
  }
}

// Calls body(lo, hi, sum) on shares of `count` rows; all but the first add to a buffer.
template <class Body>
void in_parts(const ProblemView& problem, int64_t count, double* out, const Body& body) {
  const int64_t parts = std::max<int64_t>(1, std::min(problem.threads, count / kWorthThread));
  const int64_t size = problem.rows.weight_rows();
  std::vector<double> buffers(static_cast<std::size_t>((parts - 1) * size));
  in_parallel(parts, [&](int64_t part) {
    body(share_begin(count, parts, part), share_begin(count, parts, part + 1),
         part == 0 ? out : buffers.data() + (part - 1) * size);
  });
  for (int64_t part = 1; part < parts; ++part) {
    const double* buffer = buffers.data() + (part - 1) * size;
    for (int64_t j = 0; j < size; ++j) out[j] += buffer[j];
  }
}

}  // namespace

void add_rows(const ProblemView& problem, const std::uint32_t* rows, int64_t count,
              const double* factors, double* out) {
  in_parts(problem, count, out, [&](int64_t lo, int64_t hi, double* sum) {
    add_some(problem, rows, factors, lo, hi, sum);
  });
}

void add_duals(const ProblemView& problem, const double* a, double* out) {
  const int64_t count = problem.n() - std::count(a, a + problem.n(), 0.0);
  in_parts(problem, count, out, [&](int64_t lo, int64_t hi, double* sum) {
    // A list of all would take twelve bytes a row.
    std::uint32_t rows[kBatch];
    double factors[kBatch];
    int64_t row = 0;
    for (int64_t before = 0; before < lo; ++row) before += a[row] != 0.0;
    for (int64_t left = hi - lo; left > 0;) {
      const int64_t batch = std::min(left, kBatch);
      for (int64_t i = 0; i < batch; ++row) {
        if (a[row] == 0.0) continue;
        rows[i] = static_cast<std::uint32_t>(row);
        factors[i++] = a[row] * problem.side(row, 0) / problem.s[0];
      }
      add_some(problem, rows, factors, 0, batch, sum);
      left -= batch;
    }
  });
}

}  // namespace pegasos
