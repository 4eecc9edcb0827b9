// Python's handles on rows and problems: the views of the core, and the arrays they look into.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "pegasos/problem.hpp"
#include "pegasos/row_copies.hpp"

namespace binding {

class PyRows {
 public:
  PyRows(const pegasos::RowsView& view, std::vector<nb::object> owners)
      : rows(view), owners_(std::move(owners)) {}
  pegasos::Rows rows;

 private:
  std::vector<nb::object> owners_;
};

class PyProblem {
 public:
  PyProblem(const pegasos::ProblemView& problem_view, std::vector<nb::object> owners)
      : view(problem_view), owners_(std::move(owners)) {}
  pegasos::ProblemView view;
  // What a run has at hand until its next call; no part of its state.
  mutable std::unique_ptr<pegasos::RowCopies> copies;

 private:
  std::vector<nb::object> owners_;
};

inline pegasos::Span checked_span(const pegasos::ProblemView& view, std::int64_t lo,
                                  std::int64_t hi, std::int64_t every = 1) {
  if (lo < 0 || hi < lo || hi > view.n()) throw std::invalid_argument("rows out of range");
  if (every < 1) throw std::invalid_argument("every must be positive");
  return {lo, hi, every};
}

}  // namespace binding
