#include <stdexcept>

#include "harness.hpp"
#include "pegasos/rows.hpp"
#include "toy.hpp"

namespace {

using namespace toy;

const std::vector<InstructionSet> kSets = {InstructionSet::baseline, InstructionSet::x86_64_v2,
                                           InstructionSet::x86_64_v3, InstructionSet::x86_64_v4};
const std::vector<int64_t> kSizes = {0, 1, 3, 4, 5, 7, 8, 9, 33};
// Every way to make up a stride of the widths 32, 16, 8 and 4.
const std::vector<int64_t> kStrides = {1, 4, 8, 12, 16, 20, 24, 28, 36, 60, 68};

// Calls body for each layout, bias and instruction set; dense rows get their size from d.
template <class Body>
void for_each_rows(Body body) {
  const InstructionSet before = instruction_set();
  Random random(1);
  for (const Layout& layout : all_layouts()) {
    for (double bias : {0.0, 1.5}) {
      std::vector<std::pair<int64_t, std::vector<int64_t>>> shapes;  // d, sizes of the rows
      if (layout.storage == Storage::csr) shapes = {{40, kSizes}, {33, {33, 0, 33}}};
      if (layout.storage == Storage::dense) {
        for (int64_t size : kSizes) shapes.push_back({size, {size, size, size}});
      }
      for (const auto& [d, sizes] : shapes) {
        const ToyRows data(layout, d, random_entries(layout.value, d, sizes, random), bias);
        for (InstructionSet set : kSets) {
          if (!available(set)) continue;
          CONTEXT(to_string(layout) << ", bias " << bias << ", d " << d << ", " << name(set));
          use_instruction_set(set);
          body(data, Rows(data.view), random);
        }
      }
    }
  }
  use_instruction_set(before);
}

std::vector<double> random_doubles(int64_t size, Random& random) {
  std::vector<double> numbers(static_cast<std::size_t>(size));
  for (double& number : numbers) number = random.real(-1.0, 1.0);
  return numbers;
}

// The rounding errors of a sum of products with numbers of at most 1.
double rounding(const ToyRows& data, int64_t row) {
  double sum = 1.0;
  for (int64_t j = 0; j <= data.view.d; ++j) sum += std::abs(data.x(row, j));
  return 1e-14 * sum;
}

}  // namespace

TEST(squared_norm_is_the_sum_of_squares_and_the_bias) {
  for_each_rows([](const ToyRows& data, const Rows& rows, Random&) {
    for (int64_t i = 0; i < rows.n(); ++i) {
      const double want = data.squared_norm(i);
      CHECK_CLOSE(rows.squared_norm(i), want, 1e-14 * want);
    }
  });
}

TEST(dot_is_the_naive_sum_in_every_lane) {
  for_each_rows([](const ToyRows& data, const Rows& rows, Random& random) {
    for (int64_t stride : kStrides) {
      CONTEXT("stride " << stride);
      const std::vector<double> W = random_doubles(rows.weight_rows() * stride, random);
      for (int64_t i = 0; i < rows.n(); ++i) {
        std::vector<double> out(static_cast<std::size_t>(stride));
        rows.dot(i, W.data(), stride, out.data());
        for (int64_t k = 0; k < stride; ++k) {
          CHECK_CLOSE(out[k], data.dot(i, W, stride, k), rounding(data, i));
        }
      }
    }
  });
}

TEST(axpy_adds_the_row_in_every_lane_and_nothing_else) {
  for_each_rows([](const ToyRows& data, const Rows& rows, Random& random) {
    for (int64_t stride : kStrides) {
      CONTEXT("stride " << stride);
      const std::vector<double> before = random_doubles(rows.weight_rows() * stride, random);
      for (int64_t i = 0; i < rows.n(); ++i) {
        std::vector<double> factors = random_doubles(stride, random);
        factors[random.below(stride)] = 0.0;
        std::vector<double> W = before;
        std::vector<double> want = before;
        rows.axpy(i, factors.data(), W.data(), stride);
        for (int64_t k = 0; k < stride; ++k) data.axpy(i, factors[k], want, stride, k);
        for (std::size_t p = 0; p < W.size(); ++p) {
          CHECK_CLOSE(W[p], want[p], 1e-14 * (1.0 + std::abs(want[p])));
        }
      }
    }
  });
}

TEST(any_row_can_be_prefetched) {
  for_each_rows([](const ToyRows&, const Rows& rows, Random&) {
    for (int64_t i = 0; i < rows.n(); ++i) rows.prefetch(i);
  });
}

TEST(lanes_are_padded_to_fours_except_a_single_one) {
  CHECK_EQUAL(padded_lanes(1), 1);
  CHECK_EQUAL(padded_lanes(2), 4);
  CHECK_EQUAL(padded_lanes(4), 4);
  CHECK_EQUAL(padded_lanes(5), 8);
}

TEST(rows_keep_the_instruction_set_they_were_made_with) {
  const InstructionSet before = instruction_set();
  CHECK(available(before));
  CHECK(available(InstructionSet::baseline));
  Random random(2);
  const ToyRows data({}, 5, random_entries(Value::f64, 5, {3}, random), 0.0);
  use_instruction_set(InstructionSet::baseline);
  CHECK(instruction_set() == InstructionSet::baseline);
  const RowKernels* kernels = &row_kernels(data.view);
  for (InstructionSet set : kSets) {
    if (available(set)) {
      use_instruction_set(set);
      CHECK_EQUAL(&row_kernels(data.view) == kernels, set == InstructionSet::baseline);
      continue;
    }
    bool thrown = false;
    try {
      use_instruction_set(set);
    } catch (const std::invalid_argument&) {
      thrown = true;
    }
    CHECK(thrown);
  }
  use_instruction_set(before);
}
