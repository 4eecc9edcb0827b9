// SGD-r, SGD-s, SGD-m (Panagiotakopoulos & Tsampouka 2013): with u = lam t w the stochastic
// gradient step is a perceptron whose margin grows. Presenting a row at step t:
//     if y u.x <= lam t then u <- u + c y x;   t <- t + 1
// A burst presents the same row `multiplicity` times for one product and one addition.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"
#include "pegasos/sampler.hpp"

namespace pegasos {

// Updates made by `presentations` presentations of one row, where
//     g = y u.x grows by r = c |x|^2 with each update, theta = lam t by lam with each presentation.
//
// r <= lam: an update leaves the condition satisfied, so all presentations from the first
// satisfied one on are updates. r > lam: the count follows the number of thresholds that
// theta - g has passed by the last presentation, at most one update each.
std::int64_t burst_updates(std::int64_t presentations, double g, double theta, double r,
                           double lam);

struct SgdState {
  double* U;              // weight rows x stride
  std::int64_t* t;        // lanes: presentations so far
  std::uint32_t* errors;  // n x lanes: updates the row caused
  std::uint32_t* draws;   // n: visits; null unless sampling is iid
  double* error_cost;     // lanes: sum of c over all updates
  double* loss;           // lanes: c times the hinge losses met in this epoch
};

bool advance(const ProblemView& problem, const Sampler& sampler, std::int64_t multiplicity,
             SgdState& state, const Budget& budget);

}  // namespace pegasos
