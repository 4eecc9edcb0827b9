// One line of svmlight text, which ends with a line end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "pegasos/decimal.hpp"
#include "pegasos/svmlight.hpp"

namespace pegasos {

inline constexpr const char* kMixedQueries =
    "qid is on some lines only: give every line one, or none";

enum class LineKind { row, blank, bad };

template <class Value, class Index>
struct LineParser {
  LineParser(const SvmlightOptions& how, int64_t most) : options(how), most_index(most) {}

  const SvmlightOptions& options;
  const int64_t most_index;  // in the file's own counting

  // The row.
  double* labels = nullptr;
  Index* indices = nullptr;
  Value* values = nullptr;
  int64_t label_count = 0, count = 0, query = 0, query_column = 0;
  bool has_query = false;
  // What is wrong, if it is bad.
  int64_t column = 0;
  std::string what;

  // `queries`: whether rows have a query: 0, 1, or -1 for unknown.
  LineKind read(const char* begin, const char* end, int queries) {
    begin_ = begin;
    end_ = end > begin && end[-1] == '\r' ? end - 1 : end;
    at_ = begin;
    label_count = count = 0;
    has_query = false;
    skip_blanks();
    if (done()) return LineKind::blank;
    if (!read_labels() || !read_query(queries) || !read_features()) return LineKind::bad;
    return LineKind::row;
  }

 private:
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  const char* at_ = nullptr;

  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  void skip_blanks() {
    while (is_blank(*at_)) ++at_;
  }
  bool done() const { return at_ == end_ || *at_ == '#'; }
  bool at_token_end() const { return is_blank(*at_) || done(); }

  bool fail(const char* at, std::string text) {
    column = at - begin_ + 1;
    what = std::move(text);
    return false;
  }
  // The token at `at`, shortened, with bytes that are no text spelled out.
  std::string token(const char* at) const {
    constexpr std::size_t longest = 40;
    std::string text;
    for (; at != end_ && !is_blank(*at); ++at) {
      if (text.size() > longest) return "'" + text + "...'";
      const auto byte = static_cast<unsigned char>(*at);
      if (byte > 0x20 && byte < 0x7F) {
        text += *at;
      } else {
        constexpr const char* hex = "0123456789abcdef";
        text += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
      }
    }
    return "'" + text + "'";
  }
  bool number_failed(Decimal found, const char* name, const char* begin) {
    const std::string shown = token(begin);
    switch (found) {
      case Decimal::not_finite:
        return fail(begin, std::string(name) + " " + shown + " is not a finite number");
      case Decimal::too_large:
        return fail(begin, std::string(name) + " " + shown + " is too large for its type");
      default:
        return fail(begin, std::string(name) + " " + shown + " is not a number");
    }
  }

  bool begins_with_query() const { return decimal::begins_like(at_, "qid:"); }

  bool read_labels() {
    if (options.multilabel && begins_with_query()) return true;
    for (;;) {
      const char* const begin = at_;
      const Decimal found = read_decimal(at_, labels[label_count]);
      if (*at_ == ':' && at_ != begin) {  // INDEX:VALUE
        if (options.multilabel && label_count == 0) {
          at_ = begin;
          return true;
        }
        return fail(begin, "the label is missing: " + token(begin) + " is a feature");
      }
      if (found != Decimal::read) return number_failed(found, "label", begin);
      ++label_count;
      if (at_token_end()) break;
      if (*at_ != ',') return number_failed(Decimal::malformed, "label", begin);
      if (!options.multilabel) {
        return fail(begin, "several labels " + token(begin) +
                               ": read the file as multi-label data (--multilabel)");
      }
      ++at_;
    }
    if (label_count > 1) {
      std::sort(labels, labels + label_count);
      if (std::adjacent_find(labels, labels + label_count) != labels + label_count) {
        return fail(begin_, "a label is given twice");
      }
    }
    return true;
  }

  bool read_query(int queries) {
    skip_blanks();
    const char* const begin = at_;
    query_column = begin - begin_ + 1;
    has_query = begins_with_query();
    if (has_query) {
      at_ += 4;
      const auto found = std::from_chars(at_, end_, query);
      if (found.ec != std::errc{}) return fail(begin, token(begin) + ": qid is no whole number");
      at_ = found.ptr;
      if (!at_token_end()) return fail(begin, token(begin) + ": qid is no whole number");
    }
    if (queries >= 0 && has_query != (queries == 1)) return fail(begin, kMixedQueries);
    return true;
  }

  bool read_features() {
    int64_t before = options.first_index - 1;
    Index* index = indices;
    Value* value = values;
    for (;;) {
      skip_blanks();
      if (done()) break;
      const char* const begin = at_;
      const char* p = at_;
      uint64_t number = 0;
      while (is_digit(*p)) number = 10 * number + static_cast<uint64_t>(*p++ - '0');
      const auto current = static_cast<int64_t>(number);
      if (p == begin || p - begin > 18 || *p != ':' || current <= before || current > most_index) {
        at_ = p;
        return index_failed(begin, current, before);
      }
      at_ = p + 1;
      const Decimal found = read_decimal(at_, *value);
      if (found != Decimal::read) return number_failed(found, "value", p + 1);
      if (!at_token_end()) return number_failed(Decimal::malformed, "value", p + 1);
      *index++ = static_cast<Index>(current - options.first_index);
      ++value;
      before = current;
    }
    count = index - indices;
    return true;
  }

  // at_ is behind the digits of the index.
  bool index_failed(const char* begin, int64_t current, int64_t before) {
    const std::string shown = token(begin);
    if (at_ == begin || *at_ != ':') {
      const bool negative = *begin == '-' && is_digit(begin[1]);
      return fail(begin,
                  negative ? "index " + shown + " is negative" : shown + " is not INDEX:VALUE");
    }
    if (at_ - begin > 18 || current > most_index) {
      const std::string limit = std::to_string(most_index);
      return fail(begin, options.features > 0
                             ? "index of " + shown + " is beyond the declared " +
                                   std::to_string(options.features) + " features"
                             : "index of " + shown + " is beyond the limit of " + limit +
                                   ": declare the number of features (--features) if it is right");
    }
    if (current == 0 && options.first_index == 1) {
      return fail(begin,
                  "index 0, but indices begin with 1: read the file with --zero-based if "
                  "its indices begin with 0");
    }
    return fail(begin, current == before ? "index " + std::to_string(current) + " is there twice"
                                         : "index " + std::to_string(current) + " comes after " +
                                               std::to_string(before) + ": indices must increase");
  }
};

}  // namespace pegasos
