#include "runtime/build/sass.h"

#include <cstring>

namespace fa {
namespace {

struct Operation {
  int bits;  // the lowest 9
  SassKind kind;
};

// In the order of SassKind, then of the bits.
constexpr std::array kOperations{
    Operation{0x03c, SassKind::mma},           // HMMA
    Operation{0x020, SassKind::ffma},          // FMUL
    Operation{0x021, SassKind::ffma},          // FADD
    Operation{0x023, SassKind::ffma},          // FFMA
    Operation{0x008, SassKind::fp32},          // FSEL
    Operation{0x009, SassKind::fp32},          // FMNMX
    Operation{0x00b, SassKind::fp32},          // FSETP
    Operation{0x03e, SassKind::fp32},          // F2FP
    Operation{0x102, SassKind::fp32},          // FCHK
    Operation{0x104, SassKind::fp32},          // F2F
    Operation{0x105, SassKind::fp32},          // F2I
    Operation{0x106, SassKind::fp32},          // I2F
    Operation{0x111, SassKind::fp32},          // F2I
    Operation{0x112, SassKind::fp32},          // I2F
    Operation{0x108, SassKind::mufu},          // MUFU
    Operation{0x00c, SassKind::integer},       // ISETP
    Operation{0x010, SassKind::integer},       // IADD3
    Operation{0x011, SassKind::integer},       // LEA
    Operation{0x012, SassKind::integer},       // LOP3
    Operation{0x013, SassKind::integer},       // IABS
    Operation{0x017, SassKind::integer},       // IMNMX
    Operation{0x019, SassKind::integer},       // SHF
    Operation{0x01a, SassKind::integer},       // SGXT
    Operation{0x01c, SassKind::integer},       // PLOP3
    Operation{0x024, SassKind::integer},       // IMAD
    Operation{0x025, SassKind::integer},       // IMAD
    Operation{0x027, SassKind::integer},       // IMAD
    Operation{0x036, SassKind::integer},       // VIADD
    Operation{0x046, SassKind::integer},       // VIADDMNMX
    Operation{0x048, SassKind::integer},       // VIMNMX
    Operation{0x08c, SassKind::integer},       // UISETP
    Operation{0x090, SassKind::integer},       // UIADD3
    Operation{0x091, SassKind::integer},       // ULEA
    Operation{0x092, SassKind::integer},       // ULOP3
    Operation{0x099, SassKind::integer},       // USHF
    Operation{0x0a4, SassKind::integer},       // UIMAD
    Operation{0x0a5, SassKind::integer},       // UIMAD
    Operation{0x0bd, SassKind::integer},       // UFLO
    Operation{0x0be, SassKind::integer},       // UBREV
    Operation{0x100, SassKind::integer},       // FLO
    Operation{0x101, SassKind::integer},       // BREV
    Operation{0x109, SassKind::integer},       // POPC
    Operation{0x002, SassKind::move},          // MOV
    Operation{0x003, SassKind::move},          // P2R
    Operation{0x004, SassKind::move},          // R2P
    Operation{0x005, SassKind::move},          // CS2R
    Operation{0x007, SassKind::move},          // SEL
    Operation{0x016, SassKind::move},          // PRMT
    Operation{0x082, SassKind::move},          // UMOV
    Operation{0x087, SassKind::move},          // USEL
    Operation{0x0b9, SassKind::move},          // ULDC
    Operation{0x0ca, SassKind::move},          // R2UR
    Operation{0x119, SassKind::move},          // S2R
    Operation{0x155, SassKind::move},          // BMOV
    Operation{0x182, SassKind::move},          // LDC
    Operation{0x1c2, SassKind::move},          // R2UR
    Operation{0x1c3, SassKind::move},          // S2UR
    Operation{0x184, SassKind::shared_load},   // LDS
    Operation{0x188, SassKind::shared_store},  // STS
    Operation{0x18c, SassKind::shared_store},  // ATOMS
    Operation{0x03b, SassKind::ldsm},          // LDSM
    Operation{0x180, SassKind::global_load},   // LD
    Operation{0x181, SassKind::global_load},   // LDG
    Operation{0x1ae, SassKind::async_copy},    // LDGSTS
    Operation{0x186, SassKind::global_store},  // STG
    Operation{0x183, SassKind::local},         // LDL
    Operation{0x187, SassKind::local},         // STL
    Operation{0x006, SassKind::shuffle},       // VOTE
    Operation{0x086, SassKind::shuffle},       // VOTEU
    Operation{0x189, SassKind::shuffle},       // SHFL
    Operation{0x1c4, SassKind::shuffle},       // REDUX
    Operation{0x02d, SassKind::barrier},       // PREEXIT
    Operation{0x02e, SassKind::barrier},       // ACQBULK
    Operation{0x11a, SassKind::barrier},       // DEPBAR
    Operation{0x11b, SassKind::barrier},       // ENDCOLLECTIVE
    Operation{0x11d, SassKind::barrier},       // BAR
    Operation{0x148, SassKind::barrier},       // WARPSYNC
    Operation{0x1af, SassKind::barrier},       // LDGDEPBAR
    Operation{0x141, SassKind::branch},        // BSYNC
    Operation{0x142, SassKind::branch},        // BREAK
    Operation{0x144, SassKind::branch},        // CALL
    Operation{0x145, SassKind::branch},        // BSSY
    Operation{0x147, SassKind::branch},        // BRA
    Operation{0x14d, SassKind::branch},        // EXIT
    Operation{0x150, SassKind::branch},        // RET
    Operation{0x118, SassKind::other},         // NOP
    Operation{0x146, SassKind::other},         // YIELD
};

constexpr std::size_t kInstructionBytes = 16;
constexpr int kNumOperations = 512;
constexpr int kBra = 0x147;
// From here on a branch's distance stands in two places; nvdisasm's labels show both forms.
constexpr int kSplitDistances = 90;

constexpr auto kNoKind = static_cast<SassKind>(kNumSassKinds);

constexpr auto kKinds = [] {
  std::array<SassKind, kNumOperations> kinds{};
  kinds.fill(kNoKind);
  for (const Operation& operation : kOperations)
    kinds[static_cast<std::size_t>(operation.bits)] = operation.kind;
  return kinds;
}();

struct Instruction {
  std::uint64_t low = 0, high = 0;

  std::size_t operation() const { return low % kNumOperations; }

  /// Of a branch: from the next instruction to its target, in bytes.
  std::int64_t distance(int compute_capability) const {
    constexpr int kLowAt = 34, kBits = 48, kLowBits = 64 - kLowAt;
    const std::uint64_t bits = low >> kLowAt | high << kLowBits;
    // Shifted up and down again: the number has a sign.
    std::int64_t words = static_cast<std::int64_t>(bits << (64 - kBits)) >> (64 - kBits);
    if (compute_capability >= kSplitDistances)
      words = words * 256 + static_cast<std::int64_t>(low >> 16 & 0xff);
    return words * 4;
  }
};

Instruction instruction_at(std::string_view code, std::size_t index) {
  Instruction instruction;
  std::memcpy(&instruction.low, code.data() + index * kInstructionBytes, 8);
  std::memcpy(&instruction.high, code.data() + index * kInstructionBytes + 8, 8);
  return instruction;
}

/// Of each instruction, whether a branch behind it goes to it or before it. Not `BRA .`, which fills up the
/// end of a kernel.
std::vector<bool> in_a_loop(const CubinCode& code) {
  const std::size_t count = code.instructions.size() / kInstructionBytes;
  std::vector<int> begins(count + 1);  // how many loops begin there, less those that end before
  for (std::size_t at = 0; at < count; ++at) {
    const Instruction instruction = instruction_at(code.instructions, at);
    if (instruction.operation() != kBra) continue;
    const std::int64_t target =
        static_cast<std::int64_t>(at + 1) +
        instruction.distance(code.compute_capability) / static_cast<std::int64_t>(kInstructionBytes);
    if (target < 0 || target >= static_cast<std::int64_t>(at)) continue;
    ++begins[static_cast<std::size_t>(target)];
    --begins[at + 1];
  }
  std::vector<bool> result(count);
  int loops = 0;
  for (std::size_t at = 0; at < count; ++at) result[at] = (loops += begins[at]) > 0;
  return result;
}

}  // namespace

std::string_view sass_kind_name(SassKind kind) {
  constexpr std::array<std::string_view, kNumSassKinds> kNames{
      "mma",         "ffma",         "fp32",    "mufu",        "integer",    "move",
      "shared_load", "shared_store", "ldsm",    "global_load", "async_copy", "global_store",
      "local",       "shuffle",      "barrier", "branch",      "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

SassMix read_sass(const CubinCode& code) {
  const std::vector<bool> looped = in_a_loop(code);
  SassMix mix;
  for (std::size_t at = 0; at < looped.size(); ++at) {
    SassKind kind = kKinds[instruction_at(code.instructions, at).operation()];
    if (kind == kNoKind) {
      ++mix.unknown;
      kind = SassKind::other;
    }
    ++mix.all[static_cast<std::size_t>(kind)];
    if (looped[at]) ++mix.in_loops[static_cast<std::size_t>(kind)];
  }
  return mix;
}

}  // namespace fa
