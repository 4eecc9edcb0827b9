#include "pegasos/scaled_vector.hpp"
#include "runs.hpp"

namespace {

using namespace toy;

constexpr int64_t kRows = 30;
constexpr int64_t kLanes = 3;
constexpr int64_t kStride = 4;

struct Arrays {
  std::vector<double> v = std::vector<double>(kRows * kStride);
  std::vector<double> a = std::vector<double>(kLanes, 1.0);
  std::vector<double> nu = std::vector<double>(kLanes);
  std::vector<double> nu_peak = std::vector<double>(kLanes);
  std::vector<double> a_total = std::vector<double>(kLanes);
  std::vector<double> late = std::vector<double>(kRows * kStride);
  int64_t updates = 0;

  ScaledVectors vectors(bool average, int64_t refresh_every = 1000) {
    return {.rows = kRows,
            .lanes = kLanes,
            .stride = kStride,
            .v = v.data(),
            .a = a.data(),
            .nu = nu.data(),
            .nu_peak = nu_peak.data(),
            .updates = &updates,
            .refresh_every = refresh_every,
            .a_total = average ? a_total.data() : nullptr,
            .late = average ? late.data() : nullptr};
  }
};

// What the triplet stands for: w itself.
struct Naive {
  std::vector<double> w = std::vector<double>(kRows * kLanes);
  std::vector<double> sum = std::vector<double>(kRows * kLanes);
  std::vector<double> sizes = std::vector<double>(kLanes);  // sum over steps of |w|

  double squared_norm(int64_t k) const {
    double total = 0.0;
    for (int64_t j = 0; j < kRows; ++j) total += w[j * kLanes + k] * w[j * kLanes + k];
    return total;
  }
  void scale(int64_t k, double factor) {
    for (int64_t j = 0; j < kRows; ++j) w[j * kLanes + k] *= factor;
  }
  void add(int64_t k, double factor, const std::vector<double>& x) {
    for (int64_t j = 0; j < kRows; ++j) w[j * kLanes + k] += factor * x[j];
  }
  void step(int64_t k) {
    for (int64_t j = 0; j < kRows; ++j) sum[j * kLanes + k] += w[j * kLanes + k];
    sizes[k] += std::sqrt(squared_norm(k));
  }
};

// w_k += factor x, as a solver does it.
void add(ScaledVectors& w, int64_t k, double factor, const std::vector<double>& x) {
  double product = 0.0;
  double squared_norm = 0.0;
  const double into_v = factor / w.a[k];
  for (int64_t j = 0; j < kRows; ++j) {
    product += w.v[j * kStride + k] * x[j];
    squared_norm += x[j] * x[j];
    w.v[j * kStride + k] += into_v * x[j];
    if (w.late != nullptr) w.late[j * kStride + k] += into_v * w.a_total[k] * x[j];
  }
  w.note_added(k, into_v, product, squared_norm);
  w.count_updates(1);
}

std::vector<double> random_row(Random& random) {
  std::vector<double> x(kRows);
  for (double& value : x) value = random.below(3) == 0 ? random.real(-1.0, 1.0) : 0.0;
  return x;
}

void check_against(const Naive& naive, const ScaledVectors& w) {
  for (int64_t k = 0; k < kLanes; ++k) {
    const double squared_norm = naive.squared_norm(k);
    CHECK_CLOSE(w.nu[k], squared_norm, 1e-8 * squared_norm + 1e-300);
    for (int64_t j = 0; j < kRows; ++j) {
      CHECK_CLOSE(w.a[k] * w.v[j * kStride + k], naive.w[j * kLanes + k],
                  1e-12 * (1.0 + std::sqrt(squared_norm)));
      if (w.late == nullptr) continue;
      CHECK_CLOSE(w.a_total[k] * w.v[j * kStride + k] - w.late[j * kStride + k],
                  naive.sum[j * kLanes + k], 1e-11 * (1.0 + naive.sizes[k]));
    }
  }
  for (int64_t j = 0; j < kRows; ++j) CHECK_EQUAL(w.v[j * kStride + kLanes], 0.0);  // padding
}

void random_operations(bool average, bool zeros) {
  Arrays arrays;
  ScaledVectors w = arrays.vectors(average);
  Naive naive;
  Random random(7);
  int64_t folds = 0;
  for (int64_t step = 0; step < 20000; ++step) {
    CONTEXT("step " << step);
    const int64_t k = random.below(kLanes);
    const double factor = zeros && random.below(200) == 0 ? 0.0
                          : random.below(4) == 0          ? random.real(0.3, 1.0)
                                                          : random.real(0.99, 1.0);
    naive.scale(k, factor);
    folds += w.scale(k, factor);
    if (random.below(3) != 0) {
      const std::vector<double> x = random_row(random);
      const double size = random.real(-1.0, 1.0);
      naive.add(k, size, x);
      add(w, k, size, x);
    }
    if (random.below(3) == 0) {
      const double bound = random.real(0.1, 3.0);
      const double squared_norm = naive.squared_norm(k);
      if (squared_norm > bound) naive.scale(k, std::sqrt(bound / squared_norm));
      w.project(k, bound);
    }
    if (average) {
      naive.step(k);
      w.a_total[k] += w.a[k];
    }
    if (step % 50 == 0) check_against(naive, w);
  }
  check_against(naive, w);
  CHECK(folds > 100);
}

}  // namespace

TEST(the_triplet_follows_w_through_scaling_adding_and_projecting) {
  random_operations(false, true);
}

TEST(the_average_is_the_naive_running_sum) { random_operations(true, true); }

TEST(scaling_says_when_v_changed) {
  Arrays arrays;
  ScaledVectors w = arrays.vectors(false);
  Random random(1);
  add(w, 0, 1.0, random_row(random));
  std::vector<double> before = arrays.v;
  CHECK(!w.scale(0, 1e-3));
  CHECK_EQUAL(arrays.nu_peak[0], arrays.nu[0]);  // a smaller w has lost no digits
  CHECK(arrays.v == before);
  CHECK(w.scale(0, 1e-3));
  CHECK(arrays.v != before);
  CHECK_EQUAL(arrays.a[0], 1.0);
  CHECK(w.scale(0, 0.0));
  for (int64_t j = 0; j < kRows; ++j) CHECK_EQUAL(arrays.v[j * kStride], 0.0);
  CHECK_EQUAL(arrays.nu[0], 0.0);
}

TEST(projecting_inside_the_ball_changes_nothing) {
  Arrays arrays;
  ScaledVectors w = arrays.vectors(false);
  Random random(2);
  add(w, 1, 1.0, random_row(random));
  const std::string before = bytes_of(arrays.v, arrays.a, arrays.nu);
  w.project(1, arrays.nu[1]);
  CHECK(bytes_of(arrays.v, arrays.a, arrays.nu) == before);
  w.project(1, arrays.nu[1] / 4.0);
  CHECK_CLOSE(arrays.a[1], 0.5, 1e-15);
}

TEST(cancellation_does_not_leave_rounding_in_the_norm) {
  Arrays arrays;
  ScaledVectors w = arrays.vectors(false);
  Random random(3);
  const std::vector<double> x = random_row(random);
  add(w, 0, 0.1, random_row(random));
  add(w, 0, 1e8, x);
  add(w, 0, -1e8, x);
  double squared_norm = 0.0;
  for (int64_t j = 0; j < kRows; ++j) squared_norm += arrays.v[j * kStride] * arrays.v[j * kStride];
  CHECK_CLOSE(arrays.nu[0], squared_norm, 1e-14 * squared_norm);
}

TEST(the_norm_is_recomputed_after_refresh_every_updates) {
  Arrays arrays;
  ScaledVectors w = arrays.vectors(false, 10);
  Random random(4);
  add(w, 2, 1.0, random_row(random));
  const double right = arrays.nu[2];
  arrays.nu[2] = 2.0 * right;  // an error to be found
  w.count_updates(8);
  CHECK_EQUAL(arrays.nu[2], 2.0 * right);
  w.count_updates(1);
  CHECK_CLOSE(arrays.nu[2], right, 1e-14);
  CHECK_EQUAL(arrays.updates, 0);
}
