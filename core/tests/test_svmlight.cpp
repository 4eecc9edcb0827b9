#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "harness.hpp"
#include "pegasos/decimal.hpp"
#include "pegasos/svmlight.hpp"
#include "pegasos/svmlight_text.hpp"

namespace {

using namespace pegasos;

SvmlightOptions plain() { return {.first_index = 1, .most_features = 1 << 26}; }

// Feeds the text in blocks of so many bytes, as a reader does; `size` 0 is all at once.
void feed(SvmlightParser& parser, const std::string& text, std::size_t size, int64_t threads = 1) {
  std::size_t begin = 0, end = 0;
  while (true) {
    end = size == 0 ? text.size() : std::min(text.size(), end + size);
    const bool last = end == text.size();
    // A copy of its own: reading beyond it is an error that the sanitizers see.
    const std::vector<char> block(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                  text.begin() + static_cast<std::ptrdiff_t>(end));
    begin += parser.feed(block.data(), block.size(), last, threads);
    if (last || parser.error()) return;
  }
}

template <class T>
std::vector<T> values_of(Grown<T>& grown) {
  return std::vector<T>(grown.data(), grown.data() + grown.size());
}

SvmlightError error_of(const std::string& text, SvmlightOptions options = plain()) {
  SvmlightParser parser(options);
  feed(parser, text, 0);
  return parser.error().value_or(SvmlightError{0, 0, ""});
}

uint64_t next(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

// Numbers of all lengths and sizes, near halfway points included.
std::string random_decimal(uint64_t& state) {
  std::string text;
  if (next(state) % 2 == 0) text += '-';
  const int before = static_cast<int>(next(state) % 20), after = static_cast<int>(next(state) % 20);
  for (int i = 0; i < before; ++i) text += static_cast<char>('0' + next(state) % 10);
  if (before == 0 || next(state) % 2 == 0) {
    text += '.';
    for (int i = 0; i < after + (before == 0); ++i) {
      text += static_cast<char>('0' + next(state) % 10);
    }
  }
  if (next(state) % 3 == 0) {
    text += (next(state) % 2 == 0 ? "e" : "E-") + std::to_string(next(state) % 330);
  }
  return text;
}

}  // namespace

TEST(decimals_are_correctly_rounded) {
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = random_decimal(state);
    const std::string line = text + "\n";
    const char* at = line.c_str();
    double value = 0.0;
    const Decimal found = read_decimal(at, value);
    const double expected = std::strtod(text.c_str(), nullptr);
    harness::Context context(text);
    if (std::isinf(expected)) {
      CHECK(found == Decimal::too_large);
    } else {
      CHECK(found == Decimal::read);
      CHECK_EQUAL(value, expected);
      CHECK_EQUAL(*at, '\n');
    }
    const char* again = line.c_str();
    float single = 0.0F;
    const Decimal narrow = read_decimal(again, single);
    const float wanted = std::strtof(text.c_str(), nullptr);
    CHECK(narrow == (std::isinf(wanted) ? Decimal::too_large : Decimal::read));
    if (!std::isinf(wanted)) CHECK_EQUAL(single, wanted);
  }
}

TEST(decimals_round_to_float_once) {
  // Halfway between two floats up to the 20th digit: float64 takes it for the middle itself.
  for (const char* text : {"1.00000005960464477540", "1.00000005960464477539", "1.4e-45", "7e-46",
                           "3.4028235677973366e38", "3.4028235e38", "1e-50", "-1e-50", "-0.0"}) {
    harness::Context context(text);
    const std::string line = std::string(text) + " ";
    const char* at = line.c_str();
    float value = 1.0F;
    const Decimal found = read_decimal(at, value);
    const float wanted = std::strtof(text, nullptr);
    CHECK(found == (std::isinf(wanted) ? Decimal::too_large : Decimal::read));
    if (!std::isinf(wanted)) CHECK(std::memcmp(&value, &wanted, sizeof value) == 0);
  }
}

TEST(svmlight_blocks_and_threads_change_nothing) {
  std::string text = "# a comment\n\n1 1:0.5 7:-2e-3 # two\n-1\n+1 2:.5\t3:1.\r\n";
  for (int i = 0; i < 9000; ++i) {
    text += std::to_string(i % 3) + " " + std::to_string(i % 50 + 1) + ":" + std::to_string(i) +
            ".25 77:1\n";
  }
  text += "0 4:8";  // no line end
  SvmlightParser whole(plain());
  feed(whole, text, 0);
  CHECK(!whole.error());
  SvmlightRows expected = whole.take();
  CHECK_EQUAL(expected.n, int64_t{9004});
  CHECK_EQUAL(expected.values.data()[1], -2e-3);
  CHECK_EQUAL(expected.indices.data()[1], 6);
  CHECK_EQUAL(whole.largest_index(), int64_t{76});
  for (std::size_t size : {1000, 7777, 200'000}) {
    for (int64_t threads : {1, 3}) {
      SvmlightParser parser(plain());
      if (threads == 3) parser.expect(size);  // whatever it is
      feed(parser, text, size, threads);
      SvmlightRows rows = parser.take();
      CHECK(values_of(rows.labels) == values_of(expected.labels));
      CHECK(values_of(rows.ends) == values_of(expected.ends));
      CHECK(values_of(rows.indices) == values_of(expected.indices));
      CHECK(values_of(rows.values) == values_of(expected.values));
    }
  }
}

TEST(svmlight_errors_say_where) {
  struct Case {
    const char* text;
    int64_t line, column;
  };
  const Case cases[] = {
      {"1 1:2\n1 2:x\n", 2, 5},
      {"1 1:nan\n", 1, 5},
      {"1 1:-inf\n", 1, 5},
      {"# c\n\n1 3:1 2:1\n", 3, 7},
      {"1 3:1 3:1\n", 1, 7},
      {"1 0:1\n", 1, 3},
      {"1:2\n", 1, 1},
      {"x 1:2\n", 1, 1},
      {"1,2 1:2\n", 1, 1},
      {"1 1:2 garbage\n", 1, 7},
      {"1 1:1e999\n", 1, 5},
      {"1 1:2:3\n", 1, 5},
      {"1 -1:2\n", 1, 3},
      {"1 1:\n", 1, 5},
      {"1 :1\n", 1, 3},
      {"nan 1:1\n", 1, 1},
      {"1 1:1e\n", 1, 5},
      {"1 99999999999999999999:1", 1, 3},
      {"1 2147483647:1\n", 1, 3},
      {"1 qid:x 1:1\n", 1, 3},
      {"1 qid\x1A"
       "5 1:2\n",
       1, 3},  // a byte that 0x20 makes a colon
      {"1 qid:1 1:1\n1 1:1\n", 2, 3},
      {"1 1:1\n1 qid:1 1:1", 2, 3},
      {"1 1:0x10\n", 1, 5},
      {"1 1:1_0\n", 1, 5},
      {"1 1:1,5\n", 1, 5},
      {"\xEF\xBB\xBF"
       "1 1:1\n",
       1, 1},
      {"1 1:1 \x01\n", 1, 7},
  };
  for (const Case& one : cases) {
    harness::Context context(one.text);
    const SvmlightError error = error_of(one.text);
    CHECK_EQUAL(error.line, one.line);
    CHECK_EQUAL(error.column, one.column);
    CHECK(!error.what.empty());
  }
  CHECK_EQUAL(error_of(std::string("1 1:1 \0 2:1\n", 12)).column, int64_t{7});
}

TEST(svmlight_skips_bad_lines_and_counts_them) {
  SvmlightOptions options = plain();
  options.skip_bad_lines = true;
  SvmlightParser parser(options);
  feed(parser, "1 1:1 2:2\n1 1:1 1:1\n-1 3:nan\n-1 2:5\n", 0);
  CHECK(!parser.error());
  CHECK_EQUAL(parser.bad_count(), int64_t{2});
  CHECK_EQUAL(parser.bad_lines()[1].line, int64_t{3});
  SvmlightRows rows = parser.take();
  CHECK_EQUAL(rows.n, int64_t{2});
  CHECK_EQUAL(rows.values.size(), int64_t{3});
  CHECK_EQUAL(rows.values.data()[2], 5.0);
}

TEST(svmlight_labels_and_queries) {
  SvmlightOptions options = plain();
  options.multilabel = true;
  SvmlightParser parser(options);
  feed(parser, "3,1 qid:7 1:1\n qid:8 2:1\n5 qid:8\n", 0);
  CHECK(!parser.error());
  SvmlightRows rows = parser.take();
  CHECK(values_of(rows.label_ends) == (std::vector<int64_t>{2, 2, 3}));
  CHECK(values_of(rows.queries) == (std::vector<int64_t>{7, 8, 8}));
  SvmlightParser again(options);
  feed(again, "3,1 1:1\n2:1\n5\n", 0);
  CHECK(!again.error());
  rows = again.take();
  CHECK(values_of(rows.labels) == (std::vector<double>{1, 3, 5}));
  CHECK(values_of(rows.label_ends) == (std::vector<int64_t>{2, 2, 3}));
  SvmlightParser queries(plain());
  feed(queries, "1 qid:7 1:1\n2 qid:-8 2:1\n", 0);
  rows = queries.take();
  CHECK(values_of(rows.queries) == (std::vector<int64_t>{7, -8}));
}

TEST(svmlight_text_reads_back) {
  const double labels[] = {1, -1};
  const int64_t ends[] = {2, 3};
  const int32_t indices[] = {0, 9, 4};
  const double values[] = {0.1, -1.0 / 3.0, 1e300};
  SvmlightText rows{};
  rows.n = 2;
  rows.labels = labels;
  rows.ends = ends;
  rows.indices = indices;
  rows.values = values;
  rows.first_index = 1;
  const std::string text = svmlight_text(rows);
  SvmlightParser parser(plain());
  feed(parser, text, 0);
  SvmlightRows back = parser.take();
  CHECK(values_of(back.values) == std::vector<double>(values, values + 3));
  CHECK(values_of(back.indices) == std::vector<int32_t>(indices, indices + 3));
}
