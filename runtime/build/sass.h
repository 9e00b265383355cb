// What a kernel's machine code consists of: its instructions by the unit that runs them.
//
// Since sm_70 an instruction has 128 bits, and the lowest 9 of them are its operation: bits 9 to 11 only say
// where its operands come from (registers, a constant, a number). NVIDIA documents neither. The table of
// sass.cpp was read off `nvdisasm -hex` (CUDA 13.1), which prints an instruction's name beside its bits: over
// 132 cubins of Facet's kernels, for sm_75, sm_80, sm_86, sm_89 and sm_90a, no operation had two names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/build/cubin.h"

namespace fa {

enum class SassKind : std::uint8_t {
  mma,           // HMMA: tensor cores
  ffma,          // FFMA, FMUL, FADD
  fp32,          // minima, comparisons, selections and conversions of floats
  mufu,          // MUFU: exp2, reciprocals
  integer,       // IMAD, IADD3, LOP3, SHF, ISETP and the like, on uniform registers, too
  move,          // MOV, SEL, S2R, PRMT and the like
  shared_load,   // LDS
  shared_store,  // STS, ATOMS
  ldsm,          // LDSM: a fragment of a matrix from shared memory
  global_load,   // LDG, LD
  async_copy,    // LDGSTS: global to shared memory
  global_store,  // STG
  local,         // LDL, STL: what did not fit into registers
  shuffle,       // SHFL, VOTE, REDUX: between the threads of a warp
  barrier,       // BAR, DEPBAR and the like
  branch,        // BRA, CALL, EXIT, BSSY and the like
  other          // NOP, and operations that the table does not have
};
constexpr std::size_t kNumSassKinds = static_cast<std::size_t>(SassKind::other) + 1;

/// "mma", "ffma", "shared_load", ...
std::string_view sass_kind_name(SassKind kind);

/// How many instructions there are of each kind.
using SassCounts = std::array<int, kNumSassKinds>;

struct SassMix {
  SassCounts all{};
  SassCounts in_loops{};  // those that a branch backwards can repeat
  int unknown = 0;        // operations that the table does not have: part of `other`

  int operator[](SassKind kind) const { return all[static_cast<std::size_t>(kind)]; }
  int looped(SassKind kind) const { return in_loops[static_cast<std::size_t>(kind)]; }
  bool operator==(const SassMix&) const = default;
};

SassMix read_sass(const CubinCode& code);

}  // namespace fa
