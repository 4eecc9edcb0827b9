// Python's handles on rows and problems: the views of the core, and the arrays they look into.
#pragma once

#include <optional>
#include <vector>

#include "arrays.hpp"
#include "pegasos/problem.hpp"

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

 private:
  std::vector<nb::object> owners_;
};

}  // namespace binding
