#include <cmath>
#include <vector>

#include "harness.hpp"
#include "pegasos/rows.hpp"
#include "pegasos/solver/smo.hpp"

namespace {

using namespace pegasos;

// K = x x' of points on a line, all rows in the cache.
struct Line {
  std::vector<double> x, y, upper, a, slack;
  std::vector<float> diagonal, rows;
  std::vector<uint8_t> marks;
  std::vector<int32_t> place;
  std::vector<int64_t> used;

  Line(std::vector<double> points, std::vector<double> labels, double bound)
      : x(std::move(points)), y(std::move(labels)) {
    const std::size_t n = x.size();
    upper.assign(n, bound);
    a.assign(n, 0.0);
    slack = y;
    used.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      diagonal.push_back(static_cast<float>(x[i] * x[i]));
      marks.push_back(static_cast<uint8_t>(kHere | (y[i] > 0 ? kRises : kFalls)));
      place.push_back(static_cast<int32_t>(i));
      for (std::size_t j = 0; j < n; ++j) rows.push_back(static_cast<float>(x[i] * x[j]));
    }
  }
  SmoProgress run(bool balanced, int64_t threads = 1) {
    const SmoState state{static_cast<int64_t>(x.size()),
                         y.data(),
                         upper.data(),
                         diagonal.data(),
                         a.data(),
                         slack.data(),
                         marks.data(),
                         balanced};
    KernelCache cache{rows.data(), place.data(), used.data(), 0};
    return advance(state, cache, {1e-9, 0.5, 100'000, threads});
  }
  double w() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += a[i] * y[i] * x[i];
    return sum;
  }
};

}  // namespace

TEST(smo_finds_the_widest_street) {
  // Of -3, -1 against 1, 2 the points at -1 and 1 decide: w = 1, b = 0, a = 1/2 each.
  Line line({-3, -1, 1, 2}, {-1, -1, 1, 1}, 10.0);
  const SmoProgress progress = line.run(true);
  CHECK(progress.end == SmoEnd::converged);
  CHECK_CLOSE(line.w(), 1.0, 1e-6);
  CHECK_CLOSE(line.a[1], 0.5, 1e-6);
  CHECK_CLOSE(line.a[2], 0.5, 1e-6);
  CHECK_EQUAL(line.a[0], 0.0);
  CHECK_CLOSE(progress.gain, 0.5, 1e-6);  // the dual objective: sum a - |w|^2 / 2
}

TEST(smo_stays_in_the_box_and_balanced) {
  Line line({0.5, -0.5, 1.5, -1.5, 0.1, 0.2, 0.3, -0.7, 0.9}, {-1, 1, 1, -1, -1, 1, -1, 1, 1},
            0.25);
  CHECK(line.run(true).end == SmoEnd::converged);
  double balance = 0.0;
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    CHECK(line.a[i] >= 0.0 && line.a[i] <= 0.25);
    balance += line.a[i] * line.y[i];
    // What slack claims is true, up to float32.
    CHECK_CLOSE(line.slack[i], line.y[i] - line.w() * line.x[i], 1e-6);
  }
  CHECK_CLOSE(balance, 0.0, 1e-12);
}

TEST(smo_without_an_intercept) {
  // w = 1 / x of the closest point, all on their own sides.
  Line line({2, 4, -5}, {1, 1, -1}, 10.0);
  CHECK(line.run(false).end == SmoEnd::converged);
  CHECK_CLOSE(line.w(), 0.5, 1e-6);
}

TEST(smo_waits_for_rows_that_matter_more) {
  // The outer points are here, and after a step only those that are not are left.
  Line line({-3, -1, 1, 2}, {-1, -1, 1, 1}, 10.0);
  for (std::size_t i : {1UL, 2UL}) {
    line.marks[i] &= static_cast<uint8_t>(~kHere);
    line.place[i] = -1;
  }
  const SmoProgress progress = line.run(true);
  CHECK(progress.end == SmoEnd::missing);
  CHECK(progress.steps >= 1);
  CHECK_EQUAL(line.a[1], 0.0);
  CHECK_EQUAL(line.a[2], 0.0);
  CHECK_CLOSE(progress.violation, 2.0 - 2.0 * line.w(), 1e-6);
}

TEST(smo_is_the_same_on_all_instruction_sets) {
  std::vector<double> x, y;
  for (int i = 0; i < 37; ++i) {
    x.push_back(std::sin(3.0 * i));
    y.push_back(std::sin(3.0 * i) + std::cos(7.0 * i) > 0 ? 1 : -1);
  }
  const InstructionSet before = instruction_set();
  double w = 0.0;
  for (InstructionSet set : {InstructionSet::baseline, InstructionSet::x86_64_v2,
                             InstructionSet::x86_64_v3, InstructionSet::x86_64_v4}) {
    if (!available(set)) continue;
    use_instruction_set(set);
    for (bool balanced : {true, false}) {
      Line line(x, y, 0.5), shared(x, y, 0.5);
      CHECK(line.run(balanced).end == SmoEnd::converged);
      if (set == InstructionSet::baseline && balanced) w = line.w();
      if (balanced) CHECK_CLOSE(line.w(), w, 1e-6);
      shared.run(balanced, 3);
      CHECK(shared.a == line.a);  // threads change nothing
    }
  }
  use_instruction_set(before);
}
