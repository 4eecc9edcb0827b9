// libFuzzer: any text, in blocks of any size and on two threads, is read as it is at once, or
// refused at the same place; what is accepted is sorted, in range and finite.
#include "pegasos/svmlight.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace pegasos;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Outcome {
  std::vector<double> labels, values;
  std::vector<int64_t> ends, indices, queries, label_ends;
  int64_t line = 0, column = 0, bad = 0;

  bool operator==(const Outcome& other) const = default;
};

template <class To, class T>
void append(std::vector<To>& out, Grown<T>& grown) {
  for (int64_t i = 0; i < grown.size(); ++i) out.push_back(static_cast<To>(grown.data()[i]));
}

Outcome read(const SvmlightOptions& options, const std::string& text, std::size_t block,
             int64_t threads) {
  SvmlightParser parser(options);
  std::size_t begin = 0, end = 0;
  for (bool last = false; !last && !parser.error();) {
    end = std::min(text.size(), end + block);
    last = end == text.size();
    const std::vector<char> copy(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                 text.begin() + static_cast<std::ptrdiff_t>(end));
    begin += parser.feed(copy.data(), copy.size(), last, threads);
  }
  Outcome found;
  if (parser.error()) {
    found.line = parser.error()->line;
    found.column = parser.error()->column;
    return found;  // rows before it may have been taken or not
  }
  SvmlightRows rows = parser.take();
  append(found.labels, rows.labels);
  append(found.label_ends, rows.label_ends);
  append(found.ends, rows.ends);
  append(found.indices, rows.indices);
  append(found.indices, rows.wide_indices);
  append(found.values, rows.values);
  append(found.values, rows.single_values);
  append(found.queries, rows.queries);
  found.bad = parser.bad_count();
  require(static_cast<int64_t>(found.ends.size()) == rows.n);
  return found;
}

void check(const Outcome& found, const SvmlightOptions& options) {
  require(found.indices.size() == found.values.size());
  for (double value : found.values) require(std::isfinite(value));
  for (double label : found.labels) require(std::isfinite(label));
  const int64_t most = options.features > 0 ? options.features : options.most_features;
  int64_t begin = 0;
  for (int64_t end : found.ends) {
    require(end >= begin && end <= static_cast<int64_t>(found.indices.size()));
    for (int64_t k = begin; k < end; ++k) {
      const int64_t index = found.indices[static_cast<std::size_t>(k)];
      require(index >= 0 && index < most);
      require(k == begin || found.indices[static_cast<std::size_t>(k - 1)] < index);
    }
    begin = end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const uint8_t how = data[0];
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const SvmlightOptions options{.first_index = how & 1,
                                .features = (how & 2) != 0 ? 100 : 0,
                                .most_features = 1 << 26,
                                .multilabel = (how & 4) != 0,
                                .skip_bad_lines = (how & 8) != 0,
                                .single = (how & 16) != 0};
  const Outcome whole = read(options, text, text.size() + 1, 1);
  check(whole, options);
  require(read(options, text, 1 + how / 32 * 7U, 1) == whole);
  require(read(options, text, text.size() + 1, 2) == whole);
  return 0;
}
