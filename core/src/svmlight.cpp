#include "pegasos/svmlight.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>

#include "pegasos/parallel.hpp"
#include "svmlight_line.hpp"

namespace pegasos {
namespace {

constexpr std::size_t kReported = 20;         // bad lines that are kept
constexpr double kMargin = 1.05;              // of what the first lines promise
constexpr std::size_t kPieceBytes = 1 << 16;  // that repay a thread

}  // namespace

// Some lines of text and what they hold; its room is kept from one block of text to the next.
struct SvmlightParser::Piece {
  const char* begin = nullptr;
  const char* end = nullptr;  // behind a line end
  std::size_t room = 0;

  std::unique_ptr<double[]> labels;
  std::unique_ptr<int64_t[]> label_ends, ends, queries;
  std::unique_ptr<int64_t[]> indices;  // int32 in their place, mostly
  std::unique_ptr<double[]> values;    // likewise float
  int64_t rows = 0, label_count = 0, count = 0, lines = 0;
  int64_t first_row_line = 0, first_query_column = 0;
  int has_queries = -1;
  int64_t smallest = INT64_MAX, largest = -1;
  std::optional<SvmlightError> error;
  std::vector<SvmlightError> bad;
  int64_t bad_count = 0;
  bool out_of_memory = false;

  // A row takes two bytes at least ("1\n"), a value four ("1:1 "), a label two ("1,").
  void make_room() {
    const auto bytes = static_cast<std::size_t>(end - begin);
    if (bytes <= room) return;
    room = 0;
    labels = std::make_unique_for_overwrite<double[]>(bytes / 2 + 2);
    label_ends = std::make_unique_for_overwrite<int64_t[]>(bytes / 2 + 2);
    ends = std::make_unique_for_overwrite<int64_t[]>(bytes / 2 + 2);
    queries = std::make_unique_for_overwrite<int64_t[]>(bytes / 2 + 2);
    indices = std::make_unique_for_overwrite<int64_t[]>(bytes / 4 + 2);
    values = std::make_unique_for_overwrite<double[]>(bytes / 4 + 2);
    room = bytes;
  }
  void clear() {
    rows = label_count = count = lines = bad_count = 0;
    smallest = INT64_MAX;
    largest = -1;
    error.reset();
    bad.clear();
    out_of_memory = false;
  }
};

SvmlightParser::SvmlightParser(const SvmlightOptions& options)
    : options_(options),
      wide_(std::max(options.features, options.most_features) > int64_t{INT32_MAX} + 1) {}

SvmlightParser::~SvmlightParser() = default;

template <class Value, class Index>
void SvmlightParser::parse(Piece& piece) const {
  piece.clear();
  piece.has_queries = has_queries_;
  try {
    piece.make_room();
  } catch (const std::bad_alloc&) {
    piece.out_of_memory = true;
    return;
  }
  auto* const indices = reinterpret_cast<Index*>(piece.indices.get());
  auto* const values = reinterpret_cast<Value*>(piece.values.get());
  const int64_t most = options_.features > 0 ? options_.features : options_.most_features;
  LineParser<Value, Index> line(options_, most + options_.first_index - 1);
  for (const char* at = piece.begin; at != piece.end;) {
    const auto left = static_cast<std::size_t>(piece.end - at);
    const auto* const end = static_cast<const char*>(std::memchr(at, '\n', left));
    ++piece.lines;
    line.labels = piece.labels.get() + piece.label_count;
    line.indices = indices + piece.count;
    line.values = values + piece.count;
    const LineKind kind = line.read(at, end, piece.has_queries);
    at = end + 1;
    if (kind == LineKind::blank) continue;
    if (kind == LineKind::bad) {
      SvmlightError error{piece.lines, line.column, std::move(line.what)};
      if (!options_.skip_bad_lines) {
        piece.error = std::move(error);
        return;
      }
      ++piece.bad_count;
      if (piece.bad.size() < kReported) piece.bad.push_back(std::move(error));
      continue;
    }
    if (piece.rows == 0) {
      piece.first_row_line = piece.lines;
      piece.first_query_column = line.query_column;
      piece.has_queries = line.has_query ? 1 : 0;
    }
    piece.label_count += line.label_count;
    piece.label_ends[piece.rows] = piece.label_count;
    if (line.has_query) piece.queries[piece.rows] = line.query;
    if (line.count > 0) {
      piece.smallest = std::min(piece.smallest, int64_t{line.indices[0]});
      piece.largest = std::max(piece.largest, int64_t{line.indices[line.count - 1]});
      piece.count += line.count;
    }
    piece.ends[piece.rows++] = piece.count;
  }
}

std::size_t SvmlightParser::feed(const char* text, std::size_t size, bool last, int64_t threads) {
  if (error_) return size;
  std::size_t whole = size;  // up to the last line end
  while (whole > 0 && text[whole - 1] != '\n') --whole;
  const auto parts =
      std::max<int64_t>(1, std::min<int64_t>(threads, static_cast<int64_t>(whole / kPieceBytes)));
  while (static_cast<int64_t>(pieces_.size()) < parts) {
    pieces_.push_back(std::make_unique<Piece>());
  }
  const auto parse_one = [this](Piece& piece) {
    if (options_.single) {
      wide_ ? parse<float, int64_t>(piece) : parse<float, int32_t>(piece);
    } else {
      wide_ ? parse<double, int64_t>(piece) : parse<double, int32_t>(piece);
    }
  };
  if (whole > 0) {
    const char* at = text;
    for (int64_t part = 0; part < parts; ++part) {
      Piece& piece = *pieces_[static_cast<std::size_t>(part)];
      piece.begin = at;
      const char* end = text + share_begin(static_cast<int64_t>(whole), parts, part + 1);
      if (end < at) end = at;
      while (end != at && end[-1] != '\n') ++end;  // the text ends with one
      piece.end = at = end;
    }
    parsed_ += whole;
    in_parallel(parts, [&](int64_t part) { parse_one(*pieces_[static_cast<std::size_t>(part)]); });
    append(pieces_, static_cast<std::size_t>(parts));
  }
  if (!last || whole == size || error_) return last ? size : whole;
  const std::string line = std::string(text + whole, size - whole) + '\n';
  Piece& piece = *pieces_[0];
  piece.begin = line.data();
  piece.end = line.data() + line.size();
  parse_one(piece);
  append(pieces_, 1);
  return size;
}

void SvmlightParser::append(const std::vector<std::unique_ptr<Piece>>& pieces, std::size_t count) {
  std::vector<int64_t> row_begin, label_begin, value_begin;
  int64_t rows = rows_.n, labels = rows_.labels.size();
  int64_t values = options_.single ? rows_.single_values.size() : rows_.values.size();
  const int64_t first_row = rows, first_label = labels, first_value = values;
  std::size_t used = 0;
  for (; used < count && !error_; ++used) {
    const Piece& piece = *pieces[used];
    if (piece.out_of_memory) throw std::bad_alloc();
    if (piece.rows > 0) {
      if (has_queries_ < 0) has_queries_ = piece.has_queries;
      if (has_queries_ != piece.has_queries) {
        error_ = {lines_ + piece.first_row_line, piece.first_query_column, kMixedQueries};
        break;
      }
    }
    for (const SvmlightError& bad : piece.bad) {
      if (bad_lines_.size() == kReported) break;
      bad_lines_.push_back({lines_ + bad.line, bad.column, bad.what});
    }
    bad_count_ += piece.bad_count;
    if (piece.error) {
      error_ = {lines_ + piece.error->line, piece.error->column, piece.error->what};
      break;
    }
    if (piece.largest >= 0) {
      smallest_ = smallest_ < 0 ? piece.smallest : std::min(smallest_, piece.smallest);
      largest_ = std::max(largest_, piece.largest);
    }
    lines_ += piece.lines;
    row_begin.push_back(rows);
    label_begin.push_back(labels);
    value_begin.push_back(values);
    rows += piece.rows;
    labels += piece.label_count;
    values += piece.count;
  }
  rows_.n = rows;
  double scale = 1.0;
  if (expected_ > parsed_ && parsed_ > 0) {
    scale = kMargin * static_cast<double>(expected_) / static_cast<double>(parsed_);
  }
  rows_.labels.extend(labels - first_label, scale);
  rows_.ends.extend(rows - first_row, scale);
  if (options_.multilabel) rows_.label_ends.extend(rows - first_row, scale);
  if (has_queries_ == 1) rows_.queries.extend(rows - first_row, scale);
  wide_ ? void(rows_.wide_indices.extend(values - first_value, scale))
        : void(rows_.indices.extend(values - first_value, scale));
  options_.single ? void(rows_.single_values.extend(values - first_value, scale))
                  : void(rows_.values.extend(values - first_value, scale));

  const auto copy = [](auto* to, const auto* from, int64_t size) {
    if (size > 0) std::memcpy(to, from, sizeof(*to) * static_cast<std::size_t>(size));
  };
  in_parallel(static_cast<int64_t>(row_begin.size()), [&](int64_t part) {
    const auto at = static_cast<std::size_t>(part);
    const Piece& piece = *pieces[at];
    copy(rows_.labels.data() + label_begin[at], piece.labels.get(), piece.label_count);
    for (int64_t i = 0; i < piece.rows; ++i) {
      rows_.ends.data()[row_begin[at] + i] = value_begin[at] + piece.ends[i];
      if (options_.multilabel) {
        rows_.label_ends.data()[row_begin[at] + i] = label_begin[at] + piece.label_ends[i];
      }
    }
    if (has_queries_ == 1) {
      copy(rows_.queries.data() + row_begin[at], piece.queries.get(), piece.rows);
    }
    if (wide_) {
      copy(rows_.wide_indices.data() + value_begin[at], piece.indices.get(), piece.count);
    } else {
      copy(rows_.indices.data() + value_begin[at],
           reinterpret_cast<const int32_t*>(piece.indices.get()), piece.count);
    }
    if (options_.single) {
      copy(rows_.single_values.data() + value_begin[at],
           reinterpret_cast<const float*>(piece.values.get()), piece.count);
    } else {
      copy(rows_.values.data() + value_begin[at], piece.values.get(), piece.count);
    }
  });
}

SvmlightRows SvmlightParser::take() {
  SvmlightRows rows = std::move(rows_);
  rows_ = SvmlightRows{};
  expected_ = 0;  // of the file, not of what comes next
  return rows;
}

}  // namespace pegasos
