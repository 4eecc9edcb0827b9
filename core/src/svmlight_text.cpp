#include "pegasos/svmlight_text.hpp"

#include <charconv>

namespace pegasos {
namespace {

template <class T>
void append(std::string& text, T number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  text.append(digits, end);
}

}  // namespace

std::string svmlight_text(const SvmlightText& rows) {
  std::string text;
  int64_t label = 0, at = 0;
  for (int64_t i = 0; i < rows.n; ++i) {
    const int64_t label_end = rows.label_ends != nullptr ? rows.label_ends[i] : i + 1;
    for (bool first = true; label < label_end; ++label, first = false) {
      if (!first) text += ',';
      append(text, rows.labels[label]);
    }
    if (rows.queries != nullptr) {
      text += " qid:";
      append(text, rows.queries[i]);
    }
    for (; at < rows.ends[i]; ++at) {
      text += ' ';
      append(text, (rows.indices != nullptr ? rows.indices[at] : rows.wide_indices[at]) +
                       rows.first_index);
      text += ':';
      rows.values != nullptr ? append(text, rows.values[at]) : append(text, rows.single_values[at]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace pegasos
