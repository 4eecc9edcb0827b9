#include "pegasos/solver/smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pegasos/parallel.hpp"

namespace pegasos {
namespace {

using std::int64_t;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Steps {
 public:
  Steps(const SmoState& state, KernelCache& cache, const SmoWork& work)
      : state_(state),
        cache_(cache),
        work_(work),
        team_(work.threads),
        ends_(static_cast<std::size_t>(work.threads)) {}

  SmoProgress pairs() {
    SmoProgress progress{SmoEnd::work, 0, kInfinity, 0.0, kInfinity};
    SmoEnds ends = pairs(0.0, nullptr, nullptr);
    for (; progress.steps < work_.steps; ++progress.steps) {
      const double here = ends.highest_here - ends.lowest_here;
      if (finished(ends, here, progress)) return progress;
      const int64_t i = ends.at;
      const float* const row = find(i);
      const int64_t j = partner(i, row);
      const float* const other = find(j);
      const double curvature = static_cast<double>(state_.diagonal[i]) +
                               static_cast<double>(state_.diagonal[j]) -
                               2.0 * static_cast<double>(row[j]);
      const double slope = ends.highest_here - state_.slack[j];
      const double by =
          std::min({slope / std::max(kLeastCurvature, curvature), room(i, 1), room(j, -1)});
      progress.flattest = std::min(progress.flattest, curvature);
      progress.gain += by * (slope - by / 2.0 * curvature);
      change(i, by);
      change(j, -by);
      ends = pairs(by, row, other);
    }
    progress.violation = ends.highest - ends.lowest;
    return progress;
  }

  SmoProgress singles() {
    SmoProgress progress{SmoEnd::work, 0, kInfinity, 0.0, kInfinity};
    SmoEnds ends = singles(0.0, nullptr);
    for (; progress.steps < work_.steps; ++progress.steps) {
      if (finished(ends, ends.highest_here, progress)) return progress;
      const int64_t i = ends.at;
      const float* const row = find(i);
      const auto curvature = static_cast<double>(state_.diagonal[i]);
      const double best = state_.slack[i] / std::max(kLeastCurvature, curvature);
      const double by = best > 0.0 ? std::min(best, room(i, 1)) : -std::min(-best, room(i, -1));
      progress.flattest = std::min(progress.flattest, curvature);
      progress.gain += by * (state_.slack[i] - by / 2.0 * curvature);
      change(i, by);
      ends = singles(by, row);
    }
    progress.violation = ends.highest - ends.lowest;
    return progress;
  }

 private:
  // Whether there is nothing to do with the rows that are here, which violate optimality by `here`.
  bool finished(const SmoEnds& ends, double here, SmoProgress& progress) const {
    progress.violation = ends.highest - ends.lowest;
    const bool converged = !(progress.violation > work_.tolerance);
    if (!converged && here > std::max(work_.tolerance, work_.share * progress.violation)) {
      return false;
    }
    progress.end = converged ? SmoEnd::converged : SmoEnd::missing;
    return true;
  }

  // Passes over all rows, shared by threads; the first of equals is found whatever their number.
  template <class Pass>
  SmoEnds passes(const Pass& pass) {
    team_.run([&](int64_t part) {
      ends_[static_cast<std::size_t>(part)] = pass(begin(part), begin(part + 1));
    });
    SmoEnds all = ends_[0];
    for (std::size_t part = 1; part < ends_.size(); ++part) {
      const SmoEnds& next = ends_[part];
      all.highest = std::max(all.highest, next.highest);
      all.lowest = std::min(all.lowest, next.lowest);
      all.highest_here = std::max(all.highest_here, next.highest_here);
      all.lowest_here = std::min(all.lowest_here, next.lowest_here);
      if (next.at >= 0 && (all.at < 0 || next.best > all.best)) {
        all.at = next.at;
        all.best = next.best;
      }
    }
    return all;
  }
  SmoEnds pairs(double by, const float* one, const float* other) {
    return passes([&](int64_t begin, int64_t end) {
      return kernels_.pairs(state_, begin, end, by, one, other);
    });
  }
  SmoEnds singles(double by, const float* one) {
    return passes(
        [&](int64_t begin, int64_t end) { return kernels_.singles(state_, begin, end, by, one); });
  }
  int64_t partner(int64_t i, const float* row) {
    return passes([&](int64_t begin, int64_t end) {
             SmoEnds ends{};
             ends.at = kernels_.partner(state_, begin, end, i, row, &ends.best);
             return ends;
           })
        .at;
  }
  int64_t begin(int64_t part) const {
    return part == work_.threads ? state_.n : share_begin(state_.n / 8, work_.threads, part) * 8;
  }

  const float* find(int64_t row) {
    const int64_t place = cache_.place[row];
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
    const int able = (room(i, 1) > 0.0 ? kRises : 0) | (room(i, -1) > 0.0 ? kFalls : 0);
    state_.marks[i] = static_cast<std::uint8_t>((state_.marks[i] & kHere) | able);
  }

  const SmoState& state_;
  KernelCache& cache_;
  const SmoWork& work_;
  const SmoKernels& kernels_ = smo_kernels();
  Team team_;
  std::vector<SmoEnds> ends_;
};

}  // namespace

SmoProgress advance(const SmoState& state, KernelCache& cache, const SmoWork& work) {
  Steps steps(state, cache, work);
  return state.balanced ? steps.pairs() : steps.singles();
}

}  // namespace pegasos
