// Pegasos (Shalev-Shwartz, Singer & Srebro 2007, section 2), for any number of lanes.
//
// Step t draws a batch A of rows, finds those with y w.x < 1, and sets
//     w <- (1 - 1/t) w + 1/(lam t |A|) sum over the violators of c y x,
//     w <- w min(1, R / |w|),  R^2 = sum(c)/s       (project)
// A lane's batch is the batch's rows that are in the lane; with none of them it takes no step.
#pragma once

#include <cstdint>

#include "pegasos/problem.hpp"
#include "pegasos/sampler.hpp"
#include "pegasos/scaled_vector.hpp"

namespace pegasos {

struct PegasosOptions {
  std::int64_t batch_size = 1;
  bool project = true;
  bool count_on_loss = false;  // a batch without violators leaves w and t alone
  bool cut_batches = false;    // iid, too: an epoch ends a batch
};

// Where a batch stands: its rows are first collected at a fixed w, then applied.
struct BatchCursor {
  std::int64_t applying;  // 0: collecting rows, 1: applying violators
  std::int64_t collected;
  std::int64_t applied;
};

struct PegasosState {
  ScaledVectors w;
  std::int64_t* t;                // lanes: the next step's number, from 1
  std::uint32_t* errors;          // n x lanes: times the row was a violator
  std::uint32_t* draws;           // n: times the row was drawn; null unless sampling is iid
  std::uint32_t* batch;           // batch_size rows
  std::uint8_t* violators;        // batch_size x lanes
  std::int64_t* batch_rows;       // lanes: rows of the batch that are in the lane
  std::int64_t* batch_violators;  // lanes: those that violate
  BatchCursor* cursor;
  const double* radius_squared;  // lanes
};

// True once a stop of the budget is reached, false if only its work ran out.
bool advance(const ProblemView& problem, const Sampler& sampler, const PegasosOptions& options,
             PegasosState& state, const Budget& budget);

}  // namespace pegasos
