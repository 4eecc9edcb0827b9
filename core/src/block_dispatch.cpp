// The block kernels of the instruction set in use.
#include "pegasos/dense_blocks.hpp"
#include "pegasos/solver/interior_rows.hpp"

namespace pegasos {

namespace baseline {
const DenseKernels& select_dense(const RowsView&);
const InteriorKernels& select_interior();
}  // namespace baseline
#if PEGASOS_X86_LEVELS
namespace v2 {
const DenseKernels& select_dense(const RowsView&);
const InteriorKernels& select_interior();
}  // namespace v2
namespace v3 {
const DenseKernels& select_dense(const RowsView&);
const InteriorKernels& select_interior();
}  // namespace v3
namespace v4 {
const DenseKernels& select_dense(const RowsView&);
const InteriorKernels& select_interior();
}  // namespace v4
#endif

const DenseKernels& dense_kernels(const RowsView& view) {
  switch (instruction_set()) {
#if PEGASOS_X86_LEVELS
    case InstructionSet::x86_64_v2:
      return v2::select_dense(view);
    case InstructionSet::x86_64_v3:
      return v3::select_dense(view);
    case InstructionSet::x86_64_v4:
      return v4::select_dense(view);
#endif
    default:
      return baseline::select_dense(view);
  }
}

const InteriorKernels& interior_kernels() {
  switch (instruction_set()) {
#if PEGASOS_X86_LEVELS
    case InstructionSet::x86_64_v2:
      return v2::select_interior();
    case InstructionSet::x86_64_v3:
      return v3::select_interior();
    case InstructionSet::x86_64_v4:
      return v4::select_interior();
#endif
    default:
      return baseline::select_interior();
  }
}

}  // namespace pegasos
