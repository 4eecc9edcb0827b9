// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/solver/smo.hpp"
#include "vector_rows.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

using std::uint8_t;

typedef int64_t EightPlaces __attribute__((vector_size(64)));
typedef float EightFloats __attribute__((vector_size(32)));
typedef uint8_t EightBytes __attribute__((vector_size(8)));

constexpr double kInfinity = __builtin_huge_val();

// Eight rows from k on.
struct Whole {
  int64_t k;
  Eight doubles(const double* values) const { return load<Eight>(values + k); }
  Eight floats(const float* values) const {
    EightFloats out;
    __builtin_memcpy(&out, values + k, sizeof out);
    return __builtin_convertvector(out, Eight);
  }
  EightPlaces marks(const uint8_t* values) const {
    EightBytes out;
    __builtin_memcpy(&out, values + k, sizeof out);
    return __builtin_convertvector(out, EightPlaces);
  }
  void put(double* values, Eight in) const { store(values + k, in); }
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
  Eight doubles(const double* values) const { return some<Eight>(values); }
  Eight floats(const float* values) const { return some<Eight>(values); }
  EightPlaces marks(const uint8_t* values) const { return some<EightPlaces>(values); }
  void put(double* values, Eight in) const {
    for (int64_t lane = 0; lane < size; ++lane) values[k + lane] = in[lane];
  }
};

template <class Visit>
void eights(int64_t begin, int64_t end, const Visit& visit) {
  int64_t k = begin;
  for (; k + 8 <= end; k += 8) visit(Whole{k});
  if (k < end) visit(Rest{k, end - k});
}

// The largest value met, and its place; the first of equals.
struct Largest {
  Eight values = Eight{} - kInfinity;
  EightPlaces places = EightPlaces{} - 1;

  void see(Eight next, int64_t k) {
    const EightPlaces better = next > values;
    values = better ? next : values;
    places = better ? EightPlaces{0, 1, 2, 3, 4, 5, 6, 7} + k : places;
  }
  double find(int64_t* at) const {
    double best = -kInfinity;
    *at = -1;
    for (int lane = 0; lane < 8; ++lane) {
      if (values[lane] > best || (values[lane] == best && places[lane] < *at)) {
        best = values[lane];
        *at = places[lane];
      }
    }
    return best;
  }
};

double most(Eight values) {
  double out = values[0];
  for (int lane = 1; lane < 8; ++lane) out = values[lane] > out ? values[lane] : out;
  return out;
}

Eight only(EightPlaces where, Eight values, double otherwise) {
  return where ? values : Eight{} + otherwise;
}

template <class Rows>
Eight moved(const SmoState& state, const Rows& eight, double by, const float* one,
            const float* other) {
  Eight slack = eight.doubles(state.slack);
  if (one == nullptr) return slack;
  Eight change = eight.floats(one);
  if (other != nullptr) change -= eight.floats(other);
  slack -= by * change;
  eight.put(state.slack, slack);
  return slack;
}

SmoEnds pairs(const SmoState& state, int64_t begin, int64_t end, double by, const float* one,
              const float* other) {
  Largest here;
  Eight highest = Eight{} - kInfinity, lowest = highest, lowest_here = highest;  // of -slack
  eights(begin, end, [&](const auto& eight) {
    const Eight slack = moved(state, eight, by, one, other);
    const EightPlaces marks = eight.marks(state.marks);
    const EightPlaces cached = (marks & kHere) != 0;
    const Eight rises = only((marks & kRises) != 0, slack, -kInfinity);
    const Eight falls = only((marks & kFalls) != 0, -slack, -kInfinity);
    highest = larger(highest, rises);
    lowest = larger(lowest, falls);
    lowest_here = larger(lowest_here, only(cached, falls, -kInfinity));
    here.see(only(cached, rises, -kInfinity), eight.k);
  });
  SmoEnds ends{most(highest), -most(lowest), 0.0, -most(lowest_here), -1, 0.0};
  ends.best = ends.highest_here = here.find(&ends.at);
  return ends;
}

int64_t partner(const SmoState& state, int64_t begin, int64_t end, int64_t i, const float* row,
                double* gain) {
  Largest largest;
  const double own = state.diagonal[i], highest = state.slack[i];
  eights(begin, end, [&](const auto& eight) {
    const EightPlaces able = (eight.marks(state.marks) & (kFalls | kHere)) == (kFalls | kHere);
    const Eight distance = highest - eight.doubles(state.slack);
    const Eight curvature = own + eight.floats(state.diagonal) - 2.0 * eight.floats(row);
    const Eight found = distance * distance / larger(curvature, Eight{} + kFlat);
    largest.see(only(able & (distance > 0.0), found, -kInfinity), eight.k);
  });
  int64_t at;
  *gain = largest.find(&at);
  return at;
}

SmoEnds singles(const SmoState& state, int64_t begin, int64_t end, double by, const float* one) {
  // A y may rise where slack > 0, fall where slack < 0; the gain is slack^2 over the curvature.
  Largest here;
  Eight worst = {}, worst_here = {};
  eights(begin, end, [&](const auto& eight) {
    const Eight slack = moved(state, eight, by, one, nullptr);
    const EightPlaces marks = eight.marks(state.marks);
    const Eight push =
        larger(only((marks & kRises) != 0, slack, 0.0), only((marks & kFalls) != 0, -slack, 0.0));
    const EightPlaces able = ((marks & kHere) != 0) & (push > 0.0);
    worst = larger(worst, push);
    worst_here = larger(worst_here, only(able, push, 0.0));
    const Eight curvature = larger(eight.floats(state.diagonal), Eight{} + kFlat);
    here.see(only(able, push * push / curvature, -kInfinity), eight.k);
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
