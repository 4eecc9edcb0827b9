#include <cmath>
#include <cstdint>
#include <vector>

#include "harness.hpp"
#include "pegasos/mercer.hpp"
#include "pegasos/rows.hpp"

namespace {

using namespace pegasos;

// Sparse rows of odd lengths, and as many lanes as asked for, of the same rows.
template <class T>
struct Sample {
  int64_t n = 37, d = 9;
  std::vector<T> values, norms, block, block_norms;
  std::vector<int32_t> columns;
  std::vector<int64_t> begins{0};

  explicit Sample(int64_t used) {
    const int64_t lanes = (used + kMercerLanes - 1) / kMercerLanes * kMercerLanes;
    block.assign(static_cast<std::size_t>(d * lanes), T{});
    block_norms.assign(static_cast<std::size_t>(lanes), T{});
    for (int64_t i = 0; i < n; ++i) {
      T norm{};
      for (int64_t j = 0; j < d; ++j) {
        if ((i + j) % 3 == 0) continue;
        const auto value = static_cast<T>(std::sin(static_cast<double>(i * d + j)));
        values.push_back(value);
        columns.push_back(static_cast<int32_t>(j));
        norm += value * value;
        if (i < used) block[static_cast<std::size_t>(j * lanes + i)] = value;
      }
      begins.push_back(static_cast<int64_t>(values.size()));
      norms.push_back(norm);
      if (i < used) block_norms[static_cast<std::size_t>(i)] = norm;
    }
  }
  MercerRows<T> rows() const {
    return {n, d, values.data(), columns.data(), begins.data(), norms.data()};
  }
  MercerBlock<T> others(int64_t used) const {
    return {static_cast<int64_t>(block_norms.size()), used, block.data(), block_norms.data()};
  }
  double product(int64_t i, int64_t lane) const {
    double sum = 0.0;
    const auto lanes = static_cast<int64_t>(block_norms.size());
    for (int64_t p = begins[static_cast<std::size_t>(i)];
         p < begins[static_cast<std::size_t>(i) + 1]; ++p) {
      const auto at = static_cast<std::size_t>(p);
      sum += static_cast<double>(values[at]) *
             static_cast<double>(block[static_cast<std::size_t>(columns[at] * lanes + lane)]);
    }
    return sum;
  }
  double expected(const Mercer& kernel, int64_t i, int64_t lane) const {
    const double xz = product(i, lane);
    switch (kernel.kind) {
      case MercerKind::linear:
        return xz;
      case MercerKind::rbf:
        return std::exp(-kernel.gamma *
                        (static_cast<double>(norms[static_cast<std::size_t>(i)]) +
                         static_cast<double>(block_norms[static_cast<std::size_t>(lane)]) -
                         2 * xz));
      case MercerKind::poly:
        return std::pow(kernel.gamma * xz + kernel.coef0, kernel.degree);
      case MercerKind::sigmoid:
        break;
    }
    return std::tanh(kernel.gamma * xz + kernel.coef0);
  }
};

const Mercer kKernels[] = {{MercerKind::linear, 0, 0, 0},
                           {MercerKind::rbf, 0.4, 0, 0},
                           {MercerKind::poly, 0.3, 3, 1.0},
                           {MercerKind::poly, 0.1, 2.5, 4.0},
                           {MercerKind::sigmoid, 0.2, 0, -0.3}};

template <class Check>
void on_all_instruction_sets(const Check& check) {
  const InstructionSet before = instruction_set();
  for (InstructionSet set : {InstructionSet::baseline, InstructionSet::x86_64_v2,
                             InstructionSet::x86_64_v3, InstructionSet::x86_64_v4}) {
    if (!available(set)) continue;
    use_instruction_set(set);
    check();
  }
  use_instruction_set(before);
}

}  // namespace

TEST(mercer_rows_are_those_of_the_formula) {
  on_all_instruction_sets([] {
    for (const Mercer& kernel : kKernels) {
      for (int64_t used : {1, 16, 19}) {
        const Sample<float> sample(used);
        std::vector<float> out(static_cast<std::size_t>(40 * sample.n), -7.0F);
        std::vector<int64_t> place;
        for (int64_t lane = 0; lane < used; ++lane) place.push_back(2 * lane + 1);
        mercer_rows(kernel, sample.rows(), sample.others(used), place.data(), out.data(), 3);
        for (int64_t i = 0; i < sample.n; ++i) {
          CHECK_EQUAL(out[static_cast<std::size_t>(i)], -7.0F);
          for (int64_t lane = 0; lane < used; ++lane) {
            const auto at = static_cast<std::size_t>((2 * lane + 1) * sample.n + i);
            CHECK_CLOSE(static_cast<double>(out[at]), sample.expected(kernel, i, lane), 1e-5);
          }
        }
      }
    }
  });
}

TEST(mercer_scores_add_up) {
  on_all_instruction_sets([] {
    for (const Mercer& kernel : kKernels) {
      for (int64_t outputs : {1, 3}) {
        const int64_t used = 21;
        const Sample<double> sample(used);
        std::vector<double> coef, out(static_cast<std::size_t>(sample.n * outputs), 0.5);
        for (int64_t k = 0; k < used * outputs; ++k) coef.push_back(std::cos(0.7 * k));
        mercer_scores(kernel, sample.rows(), sample.others(used), coef.data(), outputs, out.data(),
                      2);
        for (int64_t i = 0; i < sample.n; ++i) {
          for (int64_t k = 0; k < outputs; ++k) {
            double sum = 0.5;
            for (int64_t lane = 0; lane < used; ++lane) {
              sum += sample.expected(kernel, i, lane) *
                     coef[static_cast<std::size_t>(lane * outputs + k)];
            }
            CHECK_CLOSE(out[static_cast<std::size_t>(i * outputs + k)], sum, 1e-12);
          }
        }
      }
    }
  });
}

TEST(mercer_values_leave_the_rest_of_a_stride_alone) {
  const Mercer kernel{MercerKind::rbf, 1.0, 0, 0};
  std::vector<double> values(5 * 13, 9.0);
  const std::vector<double> left(5, 0.0), right(11, 0.0);
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < 11; ++c) values[static_cast<std::size_t>(r * 13 + c)] = -0.5 * (r + c);
  }
  mercer_values(kernel, MercerTile<double>{values.data(), 5, 11, 13, left.data(), right.data()}, 2);
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < 11; ++c) {
      CHECK_CLOSE(values[static_cast<std::size_t>(r * 13 + c)], std::exp(-1.0 * (r + c)), 1e-15);
    }
    CHECK_EQUAL(values[static_cast<std::size_t>(r * 13 + 11)], 9.0);
  }
}
