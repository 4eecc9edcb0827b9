#include "pegasos/solver/pegasos.hpp"

#include <algorithm>
#include <vector>

namespace pegasos {
namespace {

using std::int64_t;

// Following nu through one row costs about as much as this many entries of v.
constexpr int64_t kRowsWorthAPass = 8;

class Run {
 public:
  Run(const ProblemView& problem, const Sampler& sampler, const PegasosOptions& options,
      PegasosState& state)
      : problem_(problem),
        sampler_(sampler.at_cursor()),
        options_(options),
        state_(state),
        products_(static_cast<std::size_t>(problem.stride())),
        factors_(static_cast<std::size_t>(problem.stride())),
        step_(static_cast<std::size_t>(problem.stride())),
        late_factors_(static_cast<std::size_t>(problem.stride())) {}

  bool advance(const Budget& budget) {
    Cursor& c = sampler_.cursor();
    BatchCursor& b = *state_.cursor;
    int64_t work = budget.work;
    while (true) {
      const int64_t size = batch_size();
      if (b.applying == 0) {
        while (b.collected < size) {
          if (c.seen >= budget.stop_seen || c.steps >= budget.stop_steps) return true;
          if (work-- <= 0) return false;
          collect();
        }
        begin_step();
      } else {
        set_steps();  // a pause inside the batch: w is scaled already
      }
      while (b.applied < size) {
        if (work <= 0) return false;
        if (apply(b.applied++)) --work;
      }
      finish_step();
      ++c.steps;
    }
  }

 private:
  // permute and cycle end a batch at the epoch's end, so that epochs are whole.
  int64_t batch_size() const {
    if (state_.draws != nullptr && !options_.cut_batches) return options_.batch_size;
    const int64_t first = sampler_.cursor().seen - state_.cursor->collected;
    return std::min(options_.batch_size, problem_.n() - first % problem_.n());
  }

  void collect() {
    const int64_t ahead = sampler_.ahead();
    if (ahead >= 0) problem_.rows.prefetch(ahead);
    const int64_t row = sampler_.next();
    const int64_t lanes = problem_.lanes;
    const int64_t place = state_.cursor->collected++;
    state_.batch[place] = static_cast<std::uint32_t>(row);
    if (state_.draws != nullptr) add_saturating(state_.draws[row], 1);
    problem_.rows.dot(row, state_.w.v, problem_.stride(), products_.data());
    for (int64_t k = 0; k < lanes; ++k) {
      const int y = problem_.side(row, k);
      const bool violates = y != 0 && y * state_.w.a[k] * products_[k] < 1.0;
      state_.violators[place * lanes + k] = violates;
      state_.batch_rows[k] += y != 0;
      state_.batch_violators[k] += violates;
      if (violates) add_saturating(state_.errors[row * lanes + k], 1);
    }
    products_fresh_ = true;
  }

  // step_[k] = eta_t / |A|, or 0 where the lane takes no step.
  void set_steps() {
    for (int64_t k = 0; k < problem_.lanes; ++k) {
      const int64_t rows = state_.batch_rows[k];
      const bool steps = rows > 0 && (state_.batch_violators[k] > 0 || !options_.count_on_loss);
      step_[k] = steps ? 1.0 / (problem_.lam[k] * static_cast<double>(state_.t[k]) *
                                static_cast<double>(rows))
                       : 0.0;
    }
  }

  void begin_step() {
    set_steps();
    for (int64_t k = 0; k < problem_.lanes; ++k) {
      if (step_[k] == 0.0) continue;
      if (state_.w.scale(k, 1.0 - 1.0 / static_cast<double>(state_.t[k]))) products_fresh_ = false;
    }
    state_.cursor->applying = 1;
    state_.cursor->applied = 0;
  }

  // Where the batch's rows weigh as much as a pass over v, nu is recomputed instead of followed.
  bool follow_norm() const {
    return options_.project && state_.cursor->collected * kRowsWorthAPass < state_.w.rows;
  }

  bool apply(int64_t place) {
    const int64_t lanes = problem_.lanes;
    const int64_t row = state_.batch[place];
    bool any = false;
    for (int64_t k = 0; k < lanes; ++k) {
      factors_[k] = 0.0;
      if (step_[k] == 0.0 || !state_.violators[place * lanes + k]) continue;
      const int y = problem_.side(row, k);
      factors_[k] = step_[k] * problem_.cost(row, k, y) * y / state_.w.a[k];
      any = true;
    }
    if (!any) return false;
    const bool follow = follow_norm();
    const int64_t stride = problem_.stride();
    if (follow && !(products_fresh_ && state_.cursor->collected == 1)) {
      problem_.rows.dot(row, state_.w.v, stride, products_.data());
    }
    problem_.rows.axpy(row, factors_.data(), state_.w.v, stride);
    if (follow) {
      for (int64_t k = 0; k < lanes; ++k) {
        if (factors_[k] == 0.0) continue;
        state_.w.note_added(k, factors_[k], products_[k], problem_.squared_norms[row]);
      }
      state_.w.count_updates(1);
    }
    if (state_.w.late != nullptr) {
      for (int64_t k = 0; k < lanes; ++k) late_factors_[k] = factors_[k] * state_.w.a_total[k];
      problem_.rows.axpy(row, late_factors_.data(), state_.w.late, stride);
    }
    return true;
  }

  void finish_step() {
    if (options_.project && !follow_norm()) state_.w.refresh_all();
    for (int64_t k = 0; k < problem_.lanes; ++k) {
      if (step_[k] == 0.0) continue;
      if (options_.project) state_.w.project(k, state_.radius_squared[k]);
      if (state_.w.late != nullptr) state_.w.a_total[k] += state_.w.a[k];
      ++state_.t[k];
    }
    std::fill(state_.batch_rows, state_.batch_rows + problem_.lanes, 0);
    std::fill(state_.batch_violators, state_.batch_violators + problem_.lanes, 0);
    *state_.cursor = BatchCursor{};
  }

  const ProblemView& problem_;
  Sampler sampler_;
  const PegasosOptions& options_;
  PegasosState& state_;
  std::vector<double> products_;  // v_k . x of the last collected row
  bool products_fresh_ = false;
  std::vector<double> factors_;
  std::vector<double> step_;
  std::vector<double> late_factors_;
};

}  // namespace

bool advance(const ProblemView& problem, const Sampler& sampler, const PegasosOptions& options,
             PegasosState& state, const Budget& budget) {
  return Run(problem, sampler, options, state).advance(budget);
}

}  // namespace pegasos
