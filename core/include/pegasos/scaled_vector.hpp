// w as the triplet (v, a, nu) of the Pegasos paper: w = a v, nu = |w|^2, one per lane.
//
// Scaling and projecting cost O(1), adding a row O(its non-zeros). a is folded into v before it
// underflows. nu is updated along the way and recomputed from v before its rounding errors show:
// after every `refresh_every` updates, and whenever it falls a million-fold (cancellation).
#pragma once

#include <cmath>
#include <cstdint>

namespace pegasos {

struct ScaledVectors {
  std::int64_t rows;  // of v: features and the constant one
  std::int64_t lanes;
  std::int64_t stride;
  double* v;  // rows x stride
  double* a;
  double* nu;
  double* nu_peak;        // largest nu since it was last recomputed
  std::int64_t* updates;  // since all nu were last recomputed
  std::int64_t refresh_every;
  // For the average: sum over steps of w = a_total v - late, where `late` collects a_total times
  // each addition to v at the time it is made. Both null: no average.
  double* a_total;  // lanes: sum of a over the steps since v was last folded
  double* late;     // rows x stride

  // w_k <- factor w_k. True if v_k changed, so that products with v_k are stale.
  bool scale(std::int64_t k, double factor) {
    a[k] *= factor;
    nu[k] *= factor * factor;
    nu_peak[k] *= factor * factor;
    if (std::abs(a[k]) >= kSmallestScale) return false;
    fold(k);
    return true;
  }

  // Keeps nu after `factor` x was added to v_k; product = v_k . x from before the addition.
  void note_added(std::int64_t k, double factor, double product, double squared_norm) {
    nu[k] += a[k] * a[k] * factor * (2.0 * product + factor * squared_norm);
    if (nu[k] > nu_peak[k]) nu_peak[k] = nu[k];
    if (nu[k] < kCancelled * nu_peak[k]) refresh(k);
  }

  // To be called after rows were added: recomputes nu when it is due.
  void count_updates(std::int64_t count) {
    *updates += count;
    if (*updates >= refresh_every) refresh_all();
  }

  void refresh_all() {
    for (std::int64_t k = 0; k < lanes; ++k) refresh(k);
    *updates = 0;
  }

  // The nearest point of the ball of squared radius `bound`.
  void project(std::int64_t k, double bound) {
    if (nu[k] > bound) scale(k, std::sqrt(bound / nu[k]));
  }

 private:
  static constexpr double kSmallestScale = 1e-4;
  static constexpr double kCancelled = 1e-6;

  // a goes into v, and the sum of w into `late`: a_total v must not dwarf what is left of it.
  void fold(std::int64_t k) {
    for (std::int64_t j = 0; j < rows; ++j) {
      double& value = v[j * stride + k];
      if (late != nullptr) late[j * stride + k] -= a_total[k] * value;
      value = a[k] == 0.0 ? 0.0 : value * a[k];  // zero wipes out an infinity too
    }
    if (a_total != nullptr) a_total[k] = 0.0;
    a[k] = 1.0;
  }
  void refresh(std::int64_t k) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < rows; ++j) sum += v[j * stride + k] * v[j * stride + k];
    nu[k] = nu_peak[k] = a[k] * a[k] * sum;
  }
};

}  // namespace pegasos
