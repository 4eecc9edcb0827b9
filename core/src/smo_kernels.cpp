// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/solver/smo.hpp"
#include "register.hpp"
#include "vector_rows.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

using std::uint8_t;

typedef int64_t Places __attribute__((vector_size(kRegister)));
typedef float Floats __attribute__((vector_size(kRegister / 2)));
typedef uint8_t Bytes __attribute__((vector_size(kRegister / 8)));

constexpr double kInfinity = __builtin_huge_val();

// 0, 1, 2, ...
Places counting() {
  Places out;
  for (int64_t lane = 0; lane < kLanes; ++lane) out[lane] = lane;
  return out;
}

// As many rows from k on as a vector holds.
struct Whole {
  int64_t k;
  Some doubles(const double* values) const { return load<Some>(values + k); }
  Some floats(const float* values) const {
    Floats out;
    __builtin_memcpy(&out, values + k, sizeof out);
    return __builtin_convertvector(out, Some);
  }
  Places marks(const uint8_t* values) const {
    Bytes out;
    __builtin_memcpy(&out, values + k, sizeof out);
    return __builtin_convertvector(out, Places);
  }
  void put(double* values, Some in) const { store(values + k, in); }
};

// Fewer, at the end: the others are zeros, and their marks say that they do nothing.
struct Rest {
  int64_t k;
  int64_t size;
  template <class V, class T>
  V some(const T* values) const {
    V out{};
    for (int64_t lane = 0; lane < size; ++lane) out[lane] = values[k + lane];
    return out;
  }
  Some doubles(const double* values) const { return some<Some>(values); }
  Some floats(const float* values) const { return some<Some>(values); }
  Places marks(const uint8_t* values) const { return some<Places>(values); }
  void put(double* values, Some in) const {
    for (int64_t lane = 0; lane < size; ++lane) values[k + lane] = in[lane];
  }
};

template <class Visit>
void vectors(int64_t begin, int64_t end, const Visit& visit) {
  int64_t k = begin;
  for (; k + kLanes <= end; k += kLanes) visit(Whole{k});
  if (k < end) visit(Rest{k, end - k});
}

// The largest value met, and its place; the first of equals.
struct Largest {
  Some values = Some{} - kInfinity;
  Places places = Places{} - 1;

  void see(Some next, int64_t k) {
    const Places better = next > values;
    values = better ? next : values;
    places = better ? counting() + k : places;
  }
  double find(int64_t* at) const {
    double best = -kInfinity;
    *at = -1;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (values[lane] > best || (values[lane] == best && places[lane] < *at)) {
        best = values[lane];
        *at = places[lane];
      }
    }
    return best;
  }
};

double most(Some values) {
  double out = values[0];
  for (int lane = 1; lane < kLanes; ++lane) out = values[lane] > out ? values[lane] : out;
  return out;
}

Some only(Places where, Some values, double otherwise) {
  return where ? values : Some{} + otherwise;
}

template <class Rows>
Some moved(const SmoState& state, const Rows& rows, double by, const float* one,
           const float* other) {
  Some slack = rows.doubles(state.slack);
  if (one == nullptr) return slack;
  Some change = rows.floats(one);
  if (other != nullptr) change -= rows.floats(other);
  slack -= by * change;
  rows.put(state.slack, slack);
  return slack;
}

SmoEnds pairs(const SmoState& state, int64_t begin, int64_t end, double by, const float* one,
              const float* other) {
  Largest here;
  Some highest = Some{} - kInfinity, lowest = highest, lowest_here = highest;  // of -slack
  vectors(begin, end, [&](const auto& rows) {
    const Some slack = moved(state, rows, by, one, other);
    const Places marks = rows.marks(state.marks);
    const Places cached = (marks & kHere) != 0;
    const Some rises = only((marks & kRises) != 0, slack, -kInfinity);
    const Some falls = only((marks & kFalls) != 0, -slack, -kInfinity);
    highest = larger(highest, rises);
    lowest = larger(lowest, falls);
    lowest_here = larger(lowest_here, only(cached, falls, -kInfinity));
    here.see(only(cached, rises, -kInfinity), rows.k);
  });
  SmoEnds ends{most(highest), -most(lowest), 0.0, -most(lowest_here), -1, 0.0};
  ends.best = ends.highest_here = here.find(&ends.at);
  return ends;
}

int64_t partner(const SmoState& state, int64_t begin, int64_t end, int64_t i, const float* row,
                double* gain) {
  Largest largest;
  const double own = state.diagonal[i], highest = state.slack[i];
  vectors(begin, end, [&](const auto& rows) {
    const Places able = (rows.marks(state.marks) & (kFalls | kHere)) == (kFalls | kHere);
    const Some distance = highest - rows.doubles(state.slack);
    const Some curvature = own + rows.floats(state.diagonal) - 2.0 * rows.floats(row);
    const Some found = distance * distance / larger(curvature, Some{} + kLeastCurvature);
    largest.see(only(able & (distance > 0.0), found, -kInfinity), rows.k);
  });
  int64_t at;
  *gain = largest.find(&at);
  return at;
}

SmoEnds singles(const SmoState& state, int64_t begin, int64_t end, double by, const float* one) {
  // A y may rise where slack > 0, fall where slack < 0; the gain is slack^2 over the curvature.
  Largest here;
  Some worst = {}, worst_here = {};
  vectors(begin, end, [&](const auto& rows) {
    const Some slack = moved(state, rows, by, one, nullptr);
    const Places marks = rows.marks(state.marks);
    const Some push =
        larger(only((marks & kRises) != 0, slack, 0.0), only((marks & kFalls) != 0, -slack, 0.0));
    const Places able = ((marks & kHere) != 0) & (push > 0.0);
    worst = larger(worst, push);
    worst_here = larger(worst_here, only(able, push, 0.0));
    const Some curvature = larger(rows.floats(state.diagonal), Some{} + kLeastCurvature);
    here.see(only(able, push * push / curvature, -kInfinity), rows.k);
  });
  SmoEnds ends{most(worst), 0.0, most(worst_here), 0.0, -1, 0.0};
  ends.best = here.find(&ends.at);
  return ends;
}

}  // namespace

const SmoKernels& select_smo();
const SmoKernels& select_smo() {
  static constexpr SmoKernels kernels{pairs, partner, singles};
  return kernels;
}

}  // namespace pegasos::PEGASOS_KERNELS
