// Small random rows and problems, in every layout, in buffers without a spare byte.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pegasos/problem.hpp"

namespace toy {

using namespace pegasos;
using std::int64_t;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(engine_() % static_cast<std::uint64_t>(bound));
  }
  double real(double lo, double hi) {
    return lo + (hi - lo) * std::ldexp(static_cast<double>(engine_() >> 11), -53);
  }

 private:
  std::mt19937_64 engine_;
};

struct Layout {
  Storage storage = Storage::csr;
  Value value = Value::f64;
  Index index = Index::i32;
  int64_t gap = 0;  // dense: values between two rows
};

inline std::string to_string(const Layout& layout) {
  static const char* const values[] = {"f32", "f64", "i8", "u8"};
  const std::string value = values[static_cast<int>(layout.value)];
  if (layout.storage == Storage::dense) return value + " dense +" + std::to_string(layout.gap);
  return value + (layout.index == Index::i32 ? " csr32" : " csr64");
}

// The storages, each with the given value type.
inline std::vector<Layout> layouts_of(Value value) {
  return {{Storage::dense, value, Index::i32, 0},
          {Storage::dense, value, Index::i32, 3},
          {Storage::csr, value, Index::i32, 0},
          {Storage::csr, value, Index::i64, 0}};
}

inline std::vector<Layout> all_layouts() {
  std::vector<Layout> all;
  for (Value value : {Value::f32, Value::f64, Value::i8, Value::u8}) {
    for (const Layout& layout : layouts_of(value)) all.push_back(layout);
  }
  return all;
}

struct Entry {
  int64_t column;
  double value;
};
using Entries = std::vector<std::vector<Entry>>;  // of each row

// A random number that `type` holds exactly.
inline double random_value(Value type, Random& random) {
  if (type == Value::i8) return static_cast<double>(random.below(256) - 128);
  if (type == Value::u8) return static_cast<double>(random.below(256));
  const double value = random.real(-1.0, 1.0);
  return type == Value::f32 ? static_cast<double>(static_cast<float>(value)) : value;
}

// Row i has sizes[i] entries, in random columns that increase.
inline Entries random_entries(Value type, int64_t d, const std::vector<int64_t>& sizes,
                              Random& random) {
  Entries entries;
  for (int64_t size : sizes) {
    std::vector<Entry>& row = entries.emplace_back();
    for (int64_t column = 0; column < d; ++column) {
      const int64_t missing = size - static_cast<int64_t>(row.size());
      if (random.below(d - column) < missing) row.push_back({column, random_value(type, random)});
    }
  }
  return entries;
}

class ToyRows {
 public:
  ToyRows(const Layout& layout, int64_t d, const Entries& entries, double bias)
      : x_(entries.size() * static_cast<std::size_t>(d + 1)) {
    view.storage = layout.storage;
    view.value = layout.value;
    view.index = layout.index;
    view.n = static_cast<int64_t>(entries.size());
    view.d = d;
    view.bias = bias;
    for (int64_t i = 0; i < view.n; ++i) {
      for (const auto& [column, value] : entries[i]) {
        if (0 <= column && column < d) x_[i * (d + 1) + column] = value;
      }
      x_[i * (d + 1) + d] = bias;
    }
    layout.storage == Storage::dense ? store_dense(layout.gap) : store_csr(entries);
  }
  ToyRows(const ToyRows&) = delete;  // the view points into the buffers
  ToyRows& operator=(const ToyRows&) = delete;

  // x_row[column]; column d is the constant feature.
  double x(int64_t row, int64_t column) const { return x_[row * (view.d + 1) + column]; }
  double squared_norm(int64_t row) const {
    double sum = 0.0;
    for (int64_t j = 0; j <= view.d; ++j) sum += x(row, j) * x(row, j);
    return sum;
  }
  // w_lane . x_row
  double dot(int64_t row, const std::vector<double>& W, int64_t stride, int64_t lane = 0) const {
    double sum = 0.0;
    for (int64_t j = 0; j <= view.d; ++j) sum += x(row, j) * W[j * stride + lane];
    return sum;
  }
  // w_lane += factor x_row
  void axpy(int64_t row, double factor, std::vector<double>& W, int64_t stride,
            int64_t lane = 0) const {
    for (int64_t j = 0; j <= view.d; ++j) W[j * stride + lane] += factor * x(row, j);
  }

  RowsView view;

 private:
  using Bytes = std::vector<unsigned char>;

  template <class T>
  static Bytes pack(const std::vector<double>& numbers) {
    Bytes bytes(numbers.size() * sizeof(T));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const T value = static_cast<T>(numbers[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  }
  Bytes pack_values(const std::vector<double>& numbers) const {
    switch (view.value) {
      case Value::f32:
        return pack<float>(numbers);
      case Value::i8:
        return pack<std::int8_t>(numbers);
      case Value::u8:
        return pack<std::uint8_t>(numbers);
      case Value::f64:
        break;
    }
    return pack<double>(numbers);
  }
  Bytes pack_indices(const std::vector<double>& numbers) const {
    return view.index == Index::i32 ? pack<std::int32_t>(numbers) : pack<int64_t>(numbers);
  }

  // No gap after the last row; the other gaps hold what must not be read.
  void store_dense(int64_t gap) {
    const bool floating = view.value == Value::f32 || view.value == Value::f64;
    const double poison = floating ? std::numeric_limits<double>::quiet_NaN() : 99.0;
    std::vector<double> numbers;
    for (int64_t i = 0; i < view.n; ++i) {
      if (i > 0) numbers.insert(numbers.end(), static_cast<std::size_t>(gap), poison);
      for (int64_t j = 0; j < view.d; ++j) numbers.push_back(x(i, j));
    }
    values_ = pack_values(numbers);
    view.values = values_.data();
    view.row_stride = view.d + gap;
  }
  void store_csr(const Entries& entries) {
    std::vector<double> numbers, columns, ends{0.0};
    for (const std::vector<Entry>& row : entries) {
      for (const auto& [column, value] : row) {
        columns.push_back(static_cast<double>(column));
        numbers.push_back(value);
      }
      ends.push_back(static_cast<double>(numbers.size()));
    }
    values_ = pack_values(numbers);
    indices_ = pack_indices(columns);
    indptr_ = pack_indices(ends);
    view.values = values_.data();
    view.indices = indices_.data();
    view.indptr = indptr_.data();
  }

  std::vector<double> x_;  // n x (d + 1), the constant feature last
  Bytes values_, indices_, indptr_;
};

struct ProblemOptions {
  int64_t n = 40;
  int64_t d = 12;
  int64_t lanes = 1;
  Layout layout = {};
  double bias = 0.5;
  bool weighted = false;  // sample weights 1/2, 1 and 2, else null
  bool absent = false;    // a third of the labels is 0
  bool shifted = false;   // offsets of margins from 1/2 to 2, else null
  std::uint64_t seed = 1;
};

// Every fifth row has no features. Costs, s and lam differ between lanes.
struct ToyProblem {
  explicit ToyProblem(const ProblemOptions& o) : ToyProblem(o, Random(o.seed)) {}

  int64_t stride() const { return view.stride(); }
  std::size_t weights_size() const {
    return static_cast<std::size_t>(view.rows.weight_rows() * view.stride());
  }
  std::size_t pairs() const { return static_cast<std::size_t>(view.n() * view.lanes); }
  double cost(int64_t row, int64_t lane) const {
    const double factor = view.side(row, lane) > 0 ? positive[lane] : negative[lane];
    return weight.empty() ? factor : factor * weight[row * view.lanes + lane];
  }
  double total_cost(int64_t lane) const {
    double sum = 0.0;
    for (int64_t i = 0; i < view.n(); ++i) sum += view.side(i, lane) != 0 ? cost(i, lane) : 0.0;
    return sum;
  }

  ToyRows data;
  std::vector<std::int8_t> labels;
  std::vector<double> weight, targets, positive, negative, s, lam, squared_norms;
  ProblemView view;

 private:
  ToyProblem(const ProblemOptions& o, Random random)
      : data(o.layout, o.d, random_entries(o.layout.value, o.d, row_sizes(o, random), random),
             o.bias),
        view{.rows = Rows(data.view)} {
    for (int64_t i = 0; i < o.n; ++i) squared_norms.push_back(data.squared_norm(i));
    for (int64_t p = 0; p < o.n * o.lanes; ++p) {
      const bool out = o.absent && random.below(3) == 0;
      labels.push_back(static_cast<std::int8_t>(out ? 0 : 2 * random.below(2) - 1));
      if (o.weighted) weight.push_back(std::ldexp(1.0, static_cast<int>(random.below(3)) - 1));
    }
    for (int64_t p = 0; o.shifted && p < o.n * o.lanes; ++p) {
      targets.push_back(random.real(0.5, 2.0));
    }
    for (int64_t k = 0; k < o.lanes; ++k) {
      positive.push_back(1.0 + 0.5 * static_cast<double>(k));
      negative.push_back(1.5);
      s.push_back(2.0 + static_cast<double>(k));
      int64_t rows = 0;
      for (int64_t i = 0; i < o.n; ++i) rows += labels[i * o.lanes + k] != 0;
      lam.push_back(s[k] / static_cast<double>(rows));
    }
    view.lanes = o.lanes;
    view.sides = {.labels = labels.data(), .row_stride = o.lanes, .lane_stride = 1};
    if (o.weighted) {
      view.weight = weight.data();
      view.weight_row_stride = o.lanes;
      view.weight_lane_stride = 1;
    }
    if (o.shifted) {
      view.targets = {.wide = targets.data(), .row_stride = o.lanes, .lane_stride = 1};
    }
    view.positive = positive.data();
    view.negative = negative.data();
    view.s = s.data();
    view.lam = lam.data();
    view.squared_norms = squared_norms.data();
  }

  static std::vector<int64_t> row_sizes(const ProblemOptions& o, Random& random) {
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < o.n; ++i) sizes.push_back(i % 5 == 4 ? 0 : 1 + random.below(o.d));
    return sizes;
  }
};

}  // namespace toy
