#include "pegasos/solver/smo.hpp"

#include <algorithm>
#include <limits>

namespace pegasos {
namespace {

using std::int64_t;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Steps {
 public:
  Steps(const SmoState& state, KernelCache& cache)
      : state_(state), cache_(cache), kernels_(smo_kernels()) {}

  SmoProgress pairs(double tolerance, int64_t work) {
    SmoProgress progress{SmoEnd::work, -1, 0, kInfinity};
    for (; progress.steps < work; ++progress.steps) {
      int64_t i;
      const double highest = kernels_.highest(state_.n, state_.slack, state_.up, &i);
      if (i < 0) return converged(progress, 0.0);
      const float* const row = find(i);
      if (row == nullptr) return missing(progress, i);
      double least;
      const int64_t j = kernels_.partner(state_, i, highest, row, &least);
      progress.violation = highest - least;
      if (j < 0 || progress.violation <= tolerance) return converged(progress, progress.violation);
      const float* const other = find(j);
      if (other == nullptr) return missing(progress, j);
      const double curvature = std::max(
          kFlat, state_.diagonal[i] + state_.diagonal[j] - 2.0 * static_cast<double>(row[j]));
      const double by =
          std::min({(highest - state_.slack[j]) / curvature, room(i, 1), room(j, -1)});
      change(i, by);
      change(j, -by);
      kernels_.move(state_.n, by, row, other, state_.slack);
    }
    return progress;
  }

  SmoProgress singles(double tolerance, int64_t work) {
    SmoProgress progress{SmoEnd::work, -1, 0, kInfinity};
    for (; progress.steps < work; ++progress.steps) {
      const int64_t i = kernels_.single(state_, &progress.violation);
      if (i < 0 || progress.violation <= tolerance) return converged(progress, progress.violation);
      const float* const row = find(i);
      if (row == nullptr) return missing(progress, i);
      const double best = state_.slack[i] / std::max(kFlat, state_.diagonal[i]);
      const double by = best > 0.0 ? std::min(best, room(i, 1)) : -std::min(-best, room(i, -1));
      change(i, by);
      kernels_.move(state_.n, by, row, nullptr, state_.slack);
    }
    return progress;
  }

 private:
  const float* find(int64_t row) {
    const int64_t place = cache_.place[row];
    if (place < 0) return nullptr;
    cache_.used[place] = ++cache_.clock;
    return cache_.rows + place * state_.n;
  }
  // How far a y of row i may move up (1) or down (-1).
  double room(int64_t i, int way) const {
    return state_.y[i] * way > 0 ? state_.upper[i] - state_.a[i] : state_.a[i];
  }
  // Moves a y of row i, to the bound itself where it ends there.
  void change(int64_t i, double by) {
    double& a = state_.a[i];
    const bool grows = state_.y[i] * by > 0;
    const double left = grows ? state_.upper[i] - a : a;
    const double size = std::abs(by);
    if (size >= left) {
      a = grows ? state_.upper[i] : 0.0;
    } else {
      a += grows ? size : -size;
    }
    state_.up[i] = room(i, 1) > 0.0 ? 0.0 : -kInfinity;
    state_.low[i] = room(i, -1) > 0.0 ? 0.0 : kInfinity;
  }
  static SmoProgress converged(SmoProgress progress, double violation) {
    progress.end = SmoEnd::converged;
    progress.violation = violation;
    return progress;
  }
  static SmoProgress missing(SmoProgress progress, int64_t row) {
    progress.end = SmoEnd::missing;
    progress.missing = row;
    return progress;
  }

  const SmoState& state_;
  KernelCache& cache_;
  const SmoKernels& kernels_;
};

}  // namespace

SmoProgress advance(const SmoState& state, KernelCache& cache, double tolerance, int64_t work) {
  Steps steps(state, cache);
  return state.balanced ? steps.pairs(tolerance, work) : steps.singles(tolerance, work);
}

}  // namespace pegasos
