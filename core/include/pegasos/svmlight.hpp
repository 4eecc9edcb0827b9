// The svmlight (LIBSVM) text format: LABEL[,LABEL...] [qid:QUERY] INDEX:VALUE ... [# comment]
//
// Text comes in pieces of any size; whole lines are parsed, split over threads at line ends, and
// appended to arrays that grow in place. Nothing is accepted that could be a mistake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pegasos/grown.hpp"

namespace pegasos {

struct SvmlightOptions {
  int64_t first_index = 1;    // of the file; what is stored begins with 0
  int64_t features = 0;       // declared; 0: the largest index decides
  int64_t most_features = 0;  // an index beyond it is a mistake, if none are declared
  bool multilabel = false;
  bool skip_bad_lines = false;
  bool single = false;  // float32 values
};

// Lines and columns count from 1.
struct SvmlightError {
  int64_t line;
  int64_t column;
  std::string what;
};

struct SvmlightRows {
  int64_t n = 0;
  Grown<double> labels;
  Grown<int64_t> label_ends;  // multilabel: where the labels of a row end
  Grown<int64_t> ends;        // where the values of a row end
  Grown<int32_t> indices;
  Grown<int64_t> wide_indices;  // instead, where int32 is too narrow
  Grown<float> single_values;   // one of the two
  Grown<double> values;
  Grown<int64_t> queries;  // empty, or one per row
};

class SvmlightParser {
 public:
  explicit SvmlightParser(const SvmlightOptions& options);
  ~SvmlightParser();
  SvmlightParser(const SvmlightParser&) = delete;
  SvmlightParser& operator=(const SvmlightParser&) = delete;

  // The bytes of text to come in all, if they are known: arrays are then made long enough at once.
  void expect(std::size_t bytes) { expected_ = bytes; }
  // Parses the whole lines of the text, all of it if it is the last; returns how much that was.
  // After an error nothing more is parsed.
  std::size_t feed(const char* text, std::size_t size, bool last, int64_t threads);
  // What was parsed since the last call.
  SvmlightRows take();

  const std::optional<SvmlightError>& error() const { return error_; }
  const std::vector<SvmlightError>& bad_lines() const { return bad_lines_; }  // the first of them
  int64_t bad_count() const { return bad_count_; }
  int64_t smallest_index() const { return smallest_; }  // stored ones; -1: none yet
  int64_t largest_index() const { return largest_; }
  bool wide() const { return wide_; }
  bool single() const { return options_.single; }

 private:
  struct Piece;
  template <class Value, class Index>
  void parse(Piece& piece) const;
  void append(const std::vector<std::unique_ptr<Piece>>& pieces, std::size_t count);

  SvmlightOptions options_;
  bool wide_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  SvmlightRows rows_;
  std::size_t expected_ = 0, parsed_ = 0;  // bytes
  int64_t lines_ = 0;
  int has_queries_ = -1;  // -1: no row yet
  int64_t smallest_ = -1, largest_ = -1;
  std::optional<SvmlightError> error_;
  std::vector<SvmlightError> bad_lines_;
  int64_t bad_count_ = 0;
};

}  // namespace pegasos
