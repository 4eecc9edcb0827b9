// What a register holds, for the kernels that are compiled once per instruction set. GCC keeps
// arrays of wider vectors in memory, and compares them lane by lane, which takes many times as
// long.
#pragma once

namespace pegasos::PEGASOS_KERNELS {
namespace {

#if defined(__AVX512F__)
constexpr int kRegister = 64;  // bytes
#elif defined(__AVX__)
constexpr int kRegister = 32;
#else
constexpr int kRegister = 16;
#endif
constexpr int kLanes = kRegister / 8;  // doubles

typedef double Some __attribute__((vector_size(kRegister)));

}  // namespace
}  // namespace pegasos::PEGASOS_KERNELS
