// How a pass over the rows of one lane goes: in blocks, on threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "pegasos/dense_blocks.hpp"
#include "pegasos/parallel.hpp"
#include "pegasos/problem.hpp"
#include "pegasos/row_batch.hpp"

namespace pegasos {

// Up to kBlockRows members of the lane.
struct RowBlock {
  std::int64_t size = 0;
  std::int64_t ids[kBlockRows];
  double y[kBlockRows];
  double offset[kBlockRows];
  double c[kBlockRows];
  double products[kBlockRows];
  double factors[3 * kBlockRows];
};

// Products of blocks with vectors, for dense and sparse rows.
class BlockProducts {
 public:
  explicit BlockProducts(const Rows& rows)
      : rows_(rows),
        dense_(rows.view().storage == Storage::dense ? &dense_kernels(rows.view()) : nullptr) {}

  const DenseKernels* dense() const { return dense_; }

  void products(RowBlock& block, const double* w) const {
    if (dense_ != nullptr) {
      dense_->products(rows_.view(), block.ids, block.size, w, block.products);
      return;
    }
    for (std::int64_t i = 0; i < block.size; ++i) {
      rows_.dot(block.ids[i], w, 1, &block.products[i]);
    }
  }

  // Forgets rows whose first factor is 0.
  static void leave_out_zeros(RowBlock& block) {
    std::int64_t kept = 0;
    for (std::int64_t k = 0; k < block.size; ++k) {
      block.ids[kept] = block.ids[k];
      block.factors[kept] = block.factors[k];
      kept += block.factors[k] != 0.0;
    }
    block.size = kept;
  }

  // Adds the first `sums` factors times the rows to as many vectors of d + 1.
  void add(const RowBlock& block, std::int64_t sums, double* out) const {
    if (dense_ != nullptr) {
      dense_->add(rows_.view(), block.ids, block.size, block.factors, sums, out);
      return;
    }
    for (std::int64_t i = 0; i < block.size; ++i) {
      for (std::int64_t k = 0; k < sums; ++k) {
        rows_.axpy(block.ids[i], &block.factors[k * kBlockRows + i], out + k * (rows_.d() + 1), 1);
      }
    }
  }

 private:
  const Rows& rows_;
  const DenseKernels* dense_;
};

// Adds sum scale z z', z = (x, constant), to the upper triangle of a (d + 1) x (d + 1) matrix.
class BlockGram {
 public:
  BlockGram(const BlockProducts& multiply, const Rows& rows, double constant, double* out)
      : multiply_(multiply),
        rows_(rows),
        constant_(constant),
        out_(out),
        scratch_(static_cast<std::size_t>(multiply.dense() != nullptr ? packed_size(rows.d())
                                                                      : rows.d() + 1)) {}

  // The block's first factors are the rows' scales; they are used up.
  void add(RowBlock& block) {
    if (multiply_.dense() != nullptr) {
      for (std::int64_t k = 0; k < block.size; ++k) block.factors[k] = std::sqrt(block.factors[k]);
      multiply_.dense()->gram(rows_.view(), block.ids, block.size, block.factors, constant_,
                              scratch_.data(), out_);
      return;
    }
    for (std::int64_t k = 0; k < block.size; ++k) {
      rows_.outer(block.ids[k], block.factors[k], out_);
      total_ += block.factors[k];
    }
    multiply_.add(block, 1, scratch_.data());
  }

  // What the constant adds to sparse rows' sums; once, after the last block.
  void finish() {
    if (multiply_.dense() != nullptr) return;
    const std::int64_t d = rows_.d();
    for (std::int64_t j = 0; j < d; ++j) out_[j * (d + 1) + d] += constant_ * scratch_[j];
    out_[(d + 1) * (d + 1) - 1] += constant_ * constant_ * total_;
  }

  // Threads that may have a matrix of their own: two always, more if the matrices are small.
  static std::int64_t most_threads(std::int64_t size) {
    return std::max<std::int64_t>(2, (std::int64_t{32} << 20) / (8 * size));
  }

 private:
  const BlockProducts& multiply_;
  const Rows& rows_;
  double constant_;
  double* out_;
  std::vector<double> scratch_;
  double total_ = 0.0;
};

// Calls body(block) for those members of the lane that are `wanted(row)`.
template <class Wanted, class Body>
void each_block(const ProblemView& problem, Span span, Wanted wanted, Body body) {
  RowBlock block;
  std::fill_n(block.offset, kBlockRows, 1.0);
  for (std::int64_t row = span.lo; row < span.hi; ++row) {
    if (span.every > 1 && (row >> 3) % span.every != 0) {
      row |= 7;
      continue;
    }
    const int y = problem.side(row, 0);
    if (y == 0) continue;
    const double cost = problem.cost(row, 0, y);
    if (!(cost > 0.0) || !wanted(row)) continue;
    block.ids[block.size] = row;
    block.y[block.size] = y;
    block.c[block.size] = cost;
    if (problem.targets.given()) block.offset[block.size] = problem.offset(row, 0);
    if (++block.size == kBlockRows) {
      body(block);
      block.size = 0;
    }
  }
  if (block.size > 0) body(block);
}

// For all members of the lane; rows that are all members, without weights and targets, are filled
// in at once.
template <class Body>
void each_block(const ProblemView& problem, Span span, Body body) {
  const auto all = [](std::int64_t) { return true; };
  const Sides& sides = problem.sides;
  const bool plain = span.every == 1 && sides.members == nullptr && sides.row_stride == 1 &&
                     problem.weight == nullptr && !problem.targets.given() &&
                     problem.positive[0] > 0.0 && problem.negative[0] > 0.0;
  if (!plain) return each_block(problem, span, all, body);
  RowBlock block;
  std::fill_n(block.offset, kBlockRows, 1.0);
  for (std::int64_t lo = span.lo; lo < span.hi; lo += kBlockRows) {
    const std::int64_t hi = std::min(span.hi, lo + kBlockRows);
    const std::int8_t* labels = sides.labels + lo;
    block.size = hi - lo;
    if (std::memchr(labels, 0, static_cast<std::size_t>(block.size)) != nullptr) {
      each_block(problem, {lo, hi}, all, body);
      continue;
    }
    for (std::int64_t k = 0; k < block.size; ++k) {
      block.ids[k] = lo + k;
      block.y[k] = labels[k];
      block.c[k] = labels[k] > 0 ? problem.positive[0] : problem.negative[0];
    }
    body(block);
  }
}

// Calls visit(batch) for the block's runs of consecutive rows.
template <class Visit>
void each_batch(RowBlock& block, Loss loss, double b, const Visit& visit) {
  for (std::int64_t k = 0; k < block.size;) {
    const std::int64_t first = k;
    if (block.ids[block.size - 1] - block.ids[first] == block.size - 1 - first) {
      k = block.size;
    } else {
      while (++k < block.size && block.ids[k] == block.ids[k - 1] + 1) {
      }
    }
    visit(RowBatch{block.ids[first], k - first, loss, block.y + first, block.offset + first,
                   block.c + first, block.products + first, b, block.factors + first});
  }
}

// The tuned numbers of the passes of InteriorPoint and Newton. Not measured apart.
//
// Rows that repay a thread: so many; of dense rows, those of so many values, between the first
// number and a block.
inline constexpr std::int64_t kFewestRowsOfThread = 2048;
inline constexpr std::int64_t kFewestDenseValuesOfThread = 1 << 15;
// Pieces of a pass for each thread, so that one that is held up costs less; and the most values
// that the sums of all pieces may take.
inline constexpr std::int64_t kPiecesOfThread = 4;
inline constexpr std::int64_t kMostValuesOfPieces = 1 << 20;

inline void merge(double& to, double from) { to += from; }

// Runs body(piece, out, sum) on pieces of the span, on at most `most` threads; what each adds to
// its `size` values of out, and to its sum, is merged in the order of the pieces. Where the values
// are fewer than the rows, there are several pieces a thread, and a thread that is held up leaves
// the rest to others.
template <class Sum, class Body>
Sum in_shares(const ProblemView& problem, Span span, std::int64_t most, std::int64_t size,
              double* out, const Body& body) {
  const bool dense = problem.rows.view().storage == Storage::dense;
  const std::int64_t worth =
      dense ? std::clamp(kFewestDenseValuesOfThread / problem.rows.weight_rows(), kBlockRows,
                         kFewestRowsOfThread)
            : kFewestRowsOfThread;
  const std::int64_t rows = span.hi - span.lo;
  const std::int64_t threads =
      std::max<std::int64_t>(1, std::min({problem.threads, most, rows / worth}));
  std::int64_t pieces = threads;
  if (threads > 1 && size * threads * kPiecesOfThread <= std::min(rows, kMostValuesOfPieces)) {
    pieces = std::min(threads * kPiecesOfThread, rows / worth);
  }
  std::vector<double> buffers(static_cast<std::size_t>((pieces - 1) * size));
  std::vector<Sum> sums(static_cast<std::size_t>(pieces));
  std::atomic<std::int64_t> next = 0;
  in_parallel(threads, [&](std::int64_t) {
    for (std::int64_t p = next++; p < pieces; p = next++) {
      const Span piece{span.lo + share_begin(rows, pieces, p),
                       span.lo + share_begin(rows, pieces, p + 1), span.every};
      Sum sum{};
      body(piece, p == 0 ? out : buffers.data() + (p - 1) * size, sum);
      sums[p] = sum;
    }
  });
  for (std::int64_t p = 1; p < pieces; ++p) {
    const double* buffer = buffers.data() + (p - 1) * size;
    for (std::int64_t j = 0; j < size; ++j) out[j] += buffer[j];
    merge(sums[0], sums[p]);
  }
  return sums[0];
}

}  // namespace pegasos
