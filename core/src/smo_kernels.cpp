// Compiled once per instruction set, like row_kernels.cpp, and under the same rule: no standard
// template, and no inline function that another file could share.
#include "pegasos/solver/smo.hpp"
#include "vector_rows.hpp"

namespace pegasos::PEGASOS_KERNELS {
namespace {

typedef int64_t EightPlaces __attribute__((vector_size(64)));
typedef float EightFloats __attribute__((vector_size(32)));

constexpr double kInfinity = __builtin_huge_val();

Eight wide(const float* values) {
  EightFloats narrow;
  __builtin_memcpy(&narrow, values, sizeof narrow);
  return __builtin_convertvector(narrow, Eight);
}

// The largest value met, and its place; the first of equals within a lane.
struct Largest {
  Eight values = Eight{} - kInfinity;
  EightPlaces places = EightPlaces{} - 1;
  EightPlaces now = {0, 1, 2, 3, 4, 5, 6, 7};

  void see(Eight next) {
    const EightPlaces better = next > values;
    values = better ? next : values;
    places = better ? now : places;
    now += 8;
  }
  double find(int64_t* at) const {
    double best = -kInfinity;
    *at = -1;
    for (int k = 0; k < 8; ++k) {
      if (values[k] > best || (values[k] == best && places[k] < *at)) {
        best = values[k];
        *at = places[k];
      }
    }
    return best;
  }
};

double highest(int64_t n, const double* slack, const double* up, int64_t* at) {
  Largest largest;
  int64_t k = 0;
  for (; k + 8 <= n; k += 8) largest.see(load<Eight>(slack + k) + load<Eight>(up + k));
  double best = largest.find(at);
  for (; k < n; ++k) {
    if (slack[k] + up[k] > best) {
      best = slack[k] + up[k];
      *at = k;
    }
  }
  return best;
}

int64_t partner(const SmoState& state, int64_t i, double highest_slack, const float* row,
                double* least) {
  Largest largest;
  Eight lowest = Eight{} + kInfinity;
  const double own = state.diagonal[i];
  int64_t k = 0;
  for (; k + 8 <= state.n; k += 8) {
    const Eight low = load<Eight>(state.slack + k) + load<Eight>(state.low + k);
    lowest = smaller(lowest, low);
    const Eight distance = highest_slack - low;
    Eight curvature = own + load<Eight>(state.diagonal + k) - 2.0 * wide(row + k);
    curvature = larger(curvature, Eight{} + kFlat);
    const Eight gain = distance * distance / curvature;
    largest.see(distance > 0.0 ? gain : Eight{} - kInfinity);
  }
  int64_t at;
  double best = largest.find(&at), bottom = kInfinity;
  for (int lane = 0; lane < 8; ++lane) bottom = lowest[lane] < bottom ? lowest[lane] : bottom;
  for (; k < state.n; ++k) {
    const double low = state.slack[k] + state.low[k];
    bottom = low < bottom ? low : bottom;
    const double distance = highest_slack - low;
    if (!(distance > 0.0) || low == kInfinity) continue;
    double curvature = own + state.diagonal[k] - 2.0 * static_cast<double>(row[k]);
    curvature = curvature > kFlat ? curvature : kFlat;
    if (distance * distance / curvature > best) {
      best = distance * distance / curvature;
      at = k;
    }
  }
  *least = bottom;
  return at;
}

void move(int64_t n, double by, const float* one, const float* other, double* slack) {
  int64_t k = 0;
  if (other == nullptr) {
    for (; k + 8 <= n; k += 8) store(slack + k, load<Eight>(slack + k) - by * wide(one + k));
    for (; k < n; ++k) slack[k] -= by * static_cast<double>(one[k]);
    return;
  }
  for (; k + 8 <= n; k += 8) {
    store(slack + k, load<Eight>(slack + k) - by * (wide(one + k) - wide(other + k)));
  }
  for (; k < n; ++k) {
    slack[k] -= by * (static_cast<double>(one[k]) - static_cast<double>(other[k]));
  }
}

int64_t single(const SmoState& state, double* violation) {
  // A y may rise where slack > 0, fall where slack < 0; the gain is slack^2 over the curvature.
  Largest largest;
  Eight worst = {};
  int64_t k = 0;
  for (; k + 8 <= state.n; k += 8) {
    const Eight slack = load<Eight>(state.slack + k);
    const Eight rise = larger(slack + load<Eight>(state.up + k), Eight{});
    const Eight fall = smaller(slack + load<Eight>(state.low + k), Eight{});
    const Eight push = larger(rise, -fall);
    worst = larger(worst, push);
    const Eight curvature = larger(load<Eight>(state.diagonal + k), Eight{} + kFlat);
    largest.see(push * push / curvature);
  }
  int64_t at;
  double best = largest.find(&at), most = 0.0;
  for (int lane = 0; lane < 8; ++lane) most = worst[lane] > most ? worst[lane] : most;
  for (; k < state.n; ++k) {
    const double rise = state.slack[k] + state.up[k], fall = state.slack[k] + state.low[k];
    double push = rise > 0.0 ? rise : 0.0;
    push = -fall > push ? -fall : push;
    most = push > most ? push : most;
    const double own = state.diagonal[k] > kFlat ? state.diagonal[k] : kFlat;
    if (push * push / own > best) {
      best = push * push / own;
      at = k;
    }
  }
  *violation = most;
  return at;
}

}  // namespace

const SmoKernels& select_smo();
const SmoKernels& select_smo() {
  static constexpr SmoKernels kernels{highest, partner, move, single};
  return kernels;
}

}  // namespace pegasos::PEGASOS_KERNELS
