#include <algorithm>
#include <map>

#include "pegasos/sampler.hpp"
#include "runs.hpp"

namespace {

using namespace toy;

struct Case {
  int64_t n;
  int chunk_bits;
};
const std::vector<Case> kCases = {{1, 0},  {2, 0},  {7, 0},   {100, 0}, {7, 1},  {8, 1},
                                  {64, 2}, {65, 2}, {101, 3}, {16, 4},  {15, 4}, {17, 4}};

double chi_square(const std::vector<int64_t>& counts) {
  double total = 0.0;
  for (int64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0.0;
  for (int64_t count : counts) {
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  }
  return sum / expected;
}

}  // namespace

TEST(permute_visits_every_row_once_per_epoch) {
  for (const auto& [n, chunk_bits] : kCases) {
    CONTEXT("n " << n << ", chunk_bits " << chunk_bits);
    Order order(Sampling::permute, 5, n, chunk_bits);
    for (int epoch = 0; epoch < 20; ++epoch) {
      std::vector<int64_t> rows = order.take(n);
      std::sort(rows.begin(), rows.end());
      for (int64_t i = 0; i < n; ++i) CHECK_EQUAL(rows[i], i);
    }
    CHECK_EQUAL(order.cursor[0].seen, 20 * n);
  }
}

TEST(permute_keeps_a_chunks_rows_together_and_the_rest_last) {
  for (const auto& [n, chunk_bits] : kCases) {
    CONTEXT("n " << n << ", chunk_bits " << chunk_bits);
    Order order(Sampling::permute, 6, n, chunk_bits);
    const int64_t size = int64_t{1} << chunk_bits;
    for (int epoch = 0; epoch < 5; ++epoch) {
      const std::vector<int64_t> rows = order.take(n);
      for (int64_t t = 0; t < n; ++t) {
        if (t % size == 0 && t + size <= n) CHECK_EQUAL(rows[t] % size, 0);
        if (t % size != 0) CHECK_EQUAL(rows[t], rows[t - 1] + 1);
        if (t >= n / size * size) CHECK_EQUAL(rows[t], t);
      }
    }
  }
}

TEST(permute_draws_all_orders_alike) {
  for (const auto& [n, chunk_bits] : {Case{4, 0}, {8, 1}, {11, 1}}) {
    CONTEXT("n " << n << ", chunk_bits " << chunk_bits);
    Order order(Sampling::permute, 7, n, chunk_bits);
    std::map<std::vector<int64_t>, int64_t> seen;
    const std::size_t orders = n == 11 ? 120 : 24;  // of its whole chunks
    for (std::size_t epoch = 0; epoch < 200 * orders; ++epoch) ++seen[order.take(n)];
    CHECK_EQUAL(seen.size(), orders);
    std::vector<int64_t> counts;
    for (const auto& [rows, count] : seen) counts.push_back(count);
    const double freedom = static_cast<double>(orders - 1);
    CHECK(chi_square(counts) < freedom + 6.0 * std::sqrt(2.0 * freedom));
  }
}

TEST(iid_is_in_range_and_roughly_uniform) {
  const int64_t n = 64;
  Order order(Sampling::iid, 9, n, 0);
  std::vector<int64_t> counts(static_cast<std::size_t>(n));
  for (int64_t row : order.take(200 * n)) {
    CHECK(0 <= row && row < n);
    ++counts[row];
  }
  CHECK(chi_square(counts) < 130.0);  // 63 degrees of freedom
  CHECK(chi_square(counts) > 20.0);   // random, not even
}

TEST(cycle_goes_round_in_order) {
  Order order(Sampling::cycle, 0, 5, 0);
  const std::vector<int64_t> rows = order.take(13);
  for (int64_t t = 0; t < 13; ++t) CHECK_EQUAL(rows[t], t % 5);
}

TEST(random_below_stays_below) {
  static_assert(random_below(3, 4, 1) == 0);
  for (int64_t bound : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{1000}, int64_t{1} << 40,
                        std::numeric_limits<int64_t>::max()}) {
    int64_t smallest = bound;
    int64_t largest = -1;
    for (std::uint64_t t = 0; t < 1000; ++t) {
      const int64_t drawn = random_below(11, t, bound);
      smallest = std::min(smallest, drawn);
      largest = std::max(largest, drawn);
    }
    CHECK(0 <= smallest && largest < bound);
    CHECK(smallest <= bound / 100 && largest >= bound - 1 - bound / 100);  // both ends are reached
  }
}

TEST(seeds_give_different_orders_and_the_same_seed_the_same) {
  for (Sampling mode : {Sampling::iid, Sampling::permute}) {
    const std::vector<int64_t> rows = Order(mode, 1, 100, 1).take(100);
    CHECK(rows == Order(mode, 1, 100, 1).take(100));
    CHECK(rows != Order(mode, 2, 100, 1).take(100));
  }
}

TEST(epochs_differ) {
  Order order(Sampling::permute, 3, 50, 0);
  const std::vector<int64_t> first = order.take(50);
  CHECK(order.take(50) != first);
}

TEST(the_arrays_are_all_it_takes_to_continue) {
  for (Sampling mode : {Sampling::iid, Sampling::permute, Sampling::cycle}) {
    const std::vector<int64_t> rows = Order(mode, 4, 30, 2).take(90);
    Order order(mode, 4, 30, 2);
    for (int64_t visit = 0; visit < 90; ++visit) {
      const Order checkpoint = order;
      order = checkpoint;
      CHECK_EQUAL(order.take(1)[0], rows[visit]);  // each time with a new sampler
    }
  }
}

TEST(ahead_is_a_row_that_comes_soon) {
  for (Sampling mode : {Sampling::iid, Sampling::permute, Sampling::cycle}) {
    for (const auto& [n, chunk_bits] : kCases) {
      CONTEXT("mode " << static_cast<int>(mode) << ", n " << n << ", chunk_bits " << chunk_bits);
      const int64_t lead = Order(mode, 5, n, chunk_bits).sampler().lead();
      const int64_t visits = 3 * n;
      const std::vector<int64_t> rows = Order(mode, 5, n, chunk_bits).take(visits + lead);
      Order order(mode, 5, n, chunk_bits);
      Sampler sampler = order.sampler();
      int64_t known = 0;
      for (int64_t t = 0; t < visits; ++t) {
        const int64_t ahead = sampler.ahead();
        if (ahead >= 0) CHECK_EQUAL(ahead, rows[t + lead]);
        known += ahead >= 0;
        CHECK_EQUAL(sampler.next(), rows[t]);  // asking changes nothing
      }
      // It is worth asking: only the epochs' ends are unknown.
      if (mode == Sampling::iid) CHECK_EQUAL(known, visits);
      if (mode == Sampling::cycle) CHECK(known >= 3 * (n - lead));
      if (mode == Sampling::permute) CHECK(known >= 3 * (n - 2 * lead));
    }
  }
}

TEST(an_epoch_starts_after_every_n_visits) {
  for (Sampling mode : {Sampling::iid, Sampling::permute, Sampling::cycle}) {
    for (const auto& [n, chunk_bits] : kCases) {
      Order order(mode, 5, n, chunk_bits);
      Sampler sampler = order.sampler();
      for (int64_t t = 0; t < 3 * n; ++t) {
        CHECK_EQUAL(sampler.at_epoch_start(), t % n == 0);
        CHECK_EQUAL(order.sampler().at_epoch_start(), t % n == 0);
        sampler.next();
      }
    }
  }
}

TEST(visits_are_counted_from_the_arrays_alone) {
  for (Sampling mode : {Sampling::permute, Sampling::cycle}) {
    for (const auto& [n, chunk_bits] : kCases) {
      CONTEXT("mode " << static_cast<int>(mode) << ", n " << n << ", chunk_bits " << chunk_bits);
      Order order(mode, 5, n, chunk_bits);
      std::vector<int64_t> want(static_cast<std::size_t>(n));
      for (int64_t t = 0; t <= 3 * n; ++t) {
        std::vector<int64_t> counts(want.size(), 77u);
        order.sampler().count_visits(counts.data());
        CHECK(counts == want);
        Sampler sampler = order.sampler();
        sampler.ahead();
        ++want[sampler.next()];
      }
    }
  }
}
