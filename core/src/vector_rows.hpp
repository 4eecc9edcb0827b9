// Eight rows at a time, for the kernels that are compiled once per instruction set.
//
// In an unnamed namespace, without any template of the standard library: nothing here may be shared
// with another file, which could have been compiled for another processor.
#pragma once

#include <cstdint>

namespace pegasos::PEGASOS_KERNELS {
namespace {

using std::int64_t;

typedef double Eight __attribute__((vector_size(64)));

template <class V>
V load(const double* values) {
  V out;
  __builtin_memcpy(&out, values, sizeof(V));
  return out;
}
template <class V>
void store(double* values, V in) {
  __builtin_memcpy(values, &in, sizeof(V));
}

template <class V>
V larger(V one, V other) {
  return one > other ? one : other;
}
template <class V>
V smaller(V one, V other) {
  return one < other ? one : other;
}

// A sum of eight lanes; single rows go to the first.
struct Sum {
  Eight lanes = {};
  void add(Eight more) { lanes += more; }
  void add(double more) { lanes[0] += more; }
  double total() const {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
  }
};

// Calls visit(V{}, k) for k = 0, 8, 16, ... with V = Eight, then for the rest with V = double.
template <class Visit>
void each(int64_t size, const Visit& visit) {
  int64_t k = 0;
  for (; k + 8 <= size; k += 8) visit(Eight{}, k);
  for (; k < size; ++k) visit(double{}, k);
}

}  // namespace
}  // namespace pegasos::PEGASOS_KERNELS
