// A row's loss phi as a function of its slack m = o - side f, and its dual's part in D:
//
//   g(a) = o a - e |a| - kappa a^2 / 2   on a box [least, most],
//
// with phi(m) the maximum of g(a) - a side f. The offset o is the row's (1 for classes), so that
// only e, kappa and the box tell the members of the family apart. Those that are here have e = 0:
//
//   hinge            c max(0, m)      kappa = 0         [0, c]
//   squared hinge    c max(0, m)^2    kappa = 1 / 2c    [0, inf)
//
// Solvers are templates on the loss, and ask what it is: `with_loss` chooses once for a pass.
//
// Everything is in an unnamed namespace, without any template of the standard library: the kernels,
// which include this, are compiled for several instruction sets.
#pragma once

#include <cstdint>

namespace pegasos {

enum class Loss : std::uint8_t { hinge, squared_hinge };

// By the names that users write. A loss is an entry here, its struct, and its case in `with_loss`.
struct NamedLoss {
  Loss loss;
  const char* name;
};
inline constexpr NamedLoss kLosses[] = {{Loss::hinge, "hinge"},
                                        {Loss::squared_hinge, "squared_hinge"}};

namespace {

// One kink, at m = 0, and no loss beyond it. V is a number, or several of them.
template <bool kCurved>
struct OneSided {
  static constexpr bool curved = kCurved;    // kappa > 0; a row that costs nothing has no dual
  static constexpr bool bounded = !kCurved;  // `most` is finite

  // The box.
  static constexpr double least(double) { return 0.0; }
  static constexpr double most(double cost) { return bounded ? cost : __builtin_huge_val(); }

  // phi; a NaN stays one.
  template <class V>
  static V value(V slack, V cost) {
    const V lost = curved ? cost * slack * slack : cost * slack;
    return slack <= 0.0 ? V{} : lost;
  }
  // phi', which bounds what rounding a slack changes. A kink's slope counts from `near` before it:
  // rounding may have moved the slack so far.
  static double slope(double slack, double cost, double near) {
    if constexpr (curved) return slack <= 0.0 ? 0.0 : 2.0 * cost * slack;
    return slack <= -near ? 0.0 : cost;
  }

  // kappa, and kappa a.
  static double curvature(double cost) { return 1.0 / (2.0 * cost); }
  template <class V>
  static V bend(V a, V cost) {
    return a / (2.0 * cost);
  }
  // kappa a^2 / 2; a product of a with itself may overflow.
  static double square(double a, double cost) { return a / cost * a / 4.0; }
  // By how much a step raises that.
  static double square_rise(double a, double step, double cost) {
    return step * (2.0 * a + step) / (4.0 * cost);
  }
  // g, of a row with the offset o.
  template <class V>
  static V worth(V a, V cost, V offset) {
    if constexpr (curved) return offset * a - a * a / (4.0 * cost);
    return offset * a;
  }

  // What the row adds to P - D: phi(slack) - g(a) + a side f, 0 where a is the best dual.
  static double gap(double slack, double cost, double a) {
    if constexpr (curved) return value(slack, cost) + a * (a / (4.0 * cost) - slack);
    return value(slack, cost) - a * slack;
  }

  // The dual, and its slope in the slack, where kinks are rounded off within `width`; `half` is
  // 1 / 2 width. A smooth loss stays as it is.
  template <class V>
  static V rounded_dual(V slack, V cost, double half) {
    if constexpr (curved) return 2.0 * cost * (slack > V{} ? slack : V{});
    V share = 0.5 + slack * half;
    share = share > V{} ? share : V{};
    const V one = V{} + 1.0;
    return cost * (share < one ? share : one);
  }
  template <class V>
  static V rounded_slope(V slack, V cost, double width, double half) {
    if constexpr (curved) return slack > 0.0 ? 2.0 * cost : V{};
    const V size = slack < 0.0 ? -slack : slack;
    return size < width ? cost * half : V{};
  }
};

using Hinge = OneSided<false>;
using SquaredHinge = OneSided<true>;

// Calls body(loss) with the loss as a type.
template <class Body>
decltype(auto) with_loss(Loss loss, const Body& body) {
  switch (loss) {
    case Loss::squared_hinge:
      return body(SquaredHinge{});
    case Loss::hinge:
      break;
  }
  return body(Hinge{});
}

}  // namespace
}  // namespace pegasos
