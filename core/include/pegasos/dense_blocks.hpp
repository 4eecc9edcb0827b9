// Products with many dense rows at a time: sums stay in registers while a block of rows is in
// cache.
#pragma once

#include <cstdint>

#include "pegasos/rows.hpp"

namespace pegasos {

// Rows that one call may name.
constexpr std::int64_t kBlockRows = 256;

// Values that packing `count` rows needs: the features and the constant one, in panels of eight.
constexpr std::int64_t packed_size(std::int64_t d) { return (d + 8) / 8 * 8 * kBlockRows; }

// For dense rows of one value type, compiled for one instruction set. Row i of a block is ids[i].
struct DenseKernels {
  // out[i] = w . x
  void (*products)(const RowsView&, const std::int64_t* ids, std::int64_t count, const double* w,
                   double* out);
  // out[k (d + 1) ..] += sum_i factors[k kBlockRows + i] x for k < sums
  void (*add)(const RowsView&, const std::int64_t* ids, std::int64_t count, const double* factors,
              std::int64_t sums, double* out);
  // Adds sum_i root_i^2 z z', z = (x, constant), to the upper triangle of a (d + 1) x (d + 1)
  // matrix; below the diagonal, entries near it may be written too. `packed` is scratch.
  void (*gram)(const RowsView&, const std::int64_t* ids, std::int64_t count, const double* root,
               double constant, double* packed, double* gram);
};

const DenseKernels& dense_kernels(const RowsView& view);

}  // namespace pegasos
