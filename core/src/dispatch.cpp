// Chooses among the compiled instruction sets, once, when the library is loaded.
#include <atomic>
#include <stdexcept>
#include <string>

#include "pegasos/cholesky.hpp"
#include "pegasos/dense_blocks.hpp"
#include "pegasos/mercer.hpp"
#include "pegasos/rows.hpp"
#include "pegasos/solver/dual_span.hpp"
#include "pegasos/solver/interior_rows.hpp"
#include "pegasos/solver/newton_rows.hpp"
#include "pegasos/solver/smo.hpp"

namespace pegasos {

namespace baseline {
const RowKernels& select(const RowsView&);
const DenseKernels& select_dense(const RowsView&);
const InteriorKernels& select_interior();
const NewtonKernels& select_newton();
const SpanKernels& select_span();
const SmoKernels& select_smo();
const MercerKernels& select_mercer();
const CholeskyKernels& select_cholesky();
}  // namespace baseline
#if PEGASOS_X86_LEVELS
namespace v2 {
const RowKernels& select(const RowsView&);
const DenseKernels& select_dense(const RowsView&);
const InteriorKernels& select_interior();
const NewtonKernels& select_newton();
const SpanKernels& select_span();
const SmoKernels& select_smo();
const MercerKernels& select_mercer();
const CholeskyKernels& select_cholesky();
}  // namespace v2
namespace v3 {
const RowKernels& select(const RowsView&);
const DenseKernels& select_dense(const RowsView&);
const InteriorKernels& select_interior();
const NewtonKernels& select_newton();
const SpanKernels& select_span();
const SmoKernels& select_smo();
const MercerKernels& select_mercer();
const CholeskyKernels& select_cholesky();
}  // namespace v3
namespace v4 {
const RowKernels& select(const RowsView&);
const DenseKernels& select_dense(const RowsView&);
const InteriorKernels& select_interior();
const NewtonKernels& select_newton();
const SpanKernels& select_span();
const SmoKernels& select_smo();
const MercerKernels& select_mercer();
const CholeskyKernels& select_cholesky();
}  // namespace v4
#endif

namespace {

InstructionSet best() {
  for (auto set :
       {InstructionSet::x86_64_v4, InstructionSet::x86_64_v3, InstructionSet::x86_64_v2}) {
    if (available(set)) return set;
  }
  return InstructionSet::baseline;
}

std::atomic<InstructionSet>& current() {
  static std::atomic<InstructionSet> set{best()};
  return set;
}

// What is compiled once per instruction set.
struct Compiled {
  const RowKernels& (*rows)(const RowsView&);
  const DenseKernels& (*dense)(const RowsView&);
  const InteriorKernels& (*interior)();
  const NewtonKernels& (*newton)();
  const SpanKernels& (*span)();
  const SmoKernels& (*smo)();
  const MercerKernels& (*mercer)();
  const CholeskyKernels& (*cholesky)();
};

Compiled compiled() {
  switch (instruction_set()) {
#if PEGASOS_X86_LEVELS
    case InstructionSet::x86_64_v2:
      return {v2::select,      v2::select_dense, v2::select_interior, v2::select_newton,
              v2::select_span, v2::select_smo,   v2::select_mercer,   v2::select_cholesky};
    case InstructionSet::x86_64_v3:
      return {v3::select,      v3::select_dense, v3::select_interior, v3::select_newton,
              v3::select_span, v3::select_smo,   v3::select_mercer,   v3::select_cholesky};
    case InstructionSet::x86_64_v4:
      return {v4::select,      v4::select_dense, v4::select_interior, v4::select_newton,
              v4::select_span, v4::select_smo,   v4::select_mercer,   v4::select_cholesky};
#endif
    default:
      return {baseline::select,        baseline::select_dense,   baseline::select_interior,
              baseline::select_newton, baseline::select_span,    baseline::select_smo,
              baseline::select_mercer, baseline::select_cholesky};
  }
}

}  // namespace

const char* name(InstructionSet set) {
  switch (set) {
    case InstructionSet::x86_64_v2:
      return "x86-64-v2";
    case InstructionSet::x86_64_v3:
      return "x86-64-v3";
    case InstructionSet::x86_64_v4:
      return "x86-64-v4";
    case InstructionSet::baseline:
      break;
  }
  return "baseline";
}

bool available(InstructionSet set) {
#if PEGASOS_X86_LEVELS
  __builtin_cpu_init();
  if (set == InstructionSet::x86_64_v2) return __builtin_cpu_supports("x86-64-v2") != 0;
  if (set == InstructionSet::x86_64_v3) return __builtin_cpu_supports("x86-64-v3") != 0;
  if (set == InstructionSet::x86_64_v4) return __builtin_cpu_supports("x86-64-v4") != 0;
#endif
  return set == InstructionSet::baseline;
}

InstructionSet instruction_set() { return current().load(); }

void use_instruction_set(InstructionSet set) {
  if (!available(set)) {
    throw std::invalid_argument(std::string("instruction set ") + name(set) +
                                " is not available on this machine");
  }
  current().store(set);
}

const RowKernels& row_kernels(const RowsView& view) { return compiled().rows(view); }
const DenseKernels& dense_kernels(const RowsView& view) { return compiled().dense(view); }
const InteriorKernels& interior_kernels() { return compiled().interior(); }
const NewtonKernels& newton_kernels() { return compiled().newton(); }
const SpanKernels& span_kernels() { return compiled().span(); }
const SmoKernels& smo_kernels() { return compiled().smo(); }
const MercerKernels& mercer_kernels() { return compiled().mercer(); }
const CholeskyKernels& cholesky_kernels() { return compiled().cholesky(); }

}  // namespace pegasos
