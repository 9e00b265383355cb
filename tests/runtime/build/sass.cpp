// The instruction mix of machine code: kernels whose mix is known, single instructions as nvdisasm prints
// them, and files that are no cubin. Building needs NVRTC and no GPU.
#include "runtime/build/sass.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "compiler/compile.h"
#include "runtime/build/build.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::tests;

namespace {

const char* const kArchs[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};

/// The cubin of a kernel `entry` with this body and the parameters (float* x, int n).
std::string cubin_of(const std::string& body, const std::string& arch) {
  const Source source{.text = "extern \"C\" __global__ void entry(float* x, int n) {\n" + body + "\n}\n",
                      .headers = {},
                      .arch = arch,
                      .program = {{.entry = "entry", .grid = Grid::q_tiles, .threads = 32}}};
  return build_source(source).cubin;
}

SassMix mix_of(const std::string& body, const std::string& arch) {
  const std::string cubin = cubin_of(body, arch);
  const auto code = find_code(cubin, "entry");
  REQUIRE(code);
  return read_sass(*code);
}

std::string code_of(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& instructions) {
  std::string bytes;
  for (const auto& [low, high] : instructions) {
    bytes.append(reinterpret_cast<const char*>(&low), 8);
    bytes.append(reinterpret_cast<const char*>(&high), 8);
  }
  return bytes;
}

}  // namespace

TEST_CASE("a kernel's instructions are those that its text asks for", "[runtime][nvrtc][sass]") {
  if (skip_without_nvrtc()) return;
  for (const std::string arch : kArchs) {
    INFO(arch);
    // Eight FFMA that need each other, of numbers that no constant can replace.
    const SassMix chain = mix_of(
        "float a = x[0], b = x[1];\n#pragma unroll\nfor (int i = 0; i < 8; ++i) a = fmaf(a, b, b);\nx[2] = "
        "a;",
        arch);
    CHECK(chain[SassKind::ffma] == 8);
    CHECK(chain[SassKind::global_load] == 2);
    CHECK(chain[SassKind::global_store] == 1);
    CHECK(chain[SassKind::mma] == 0);
    CHECK(chain[SassKind::mufu] == 0);
    CHECK(chain[SassKind::shared_load] == 0);
    CHECK(chain[SassKind::local] == 0);
    CHECK(chain[SassKind::shuffle] == 0);
    CHECK(chain[SassKind::barrier] == 0);
    CHECK(chain.unknown == 0);
    CHECK(chain.looped(SassKind::ffma) == 0);

    const SassMix others = mix_of(
        "__shared__ float s[32];\n"
        "float e; asm volatile(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(e) : \"f\"(x[threadIdx.x]));\n"
        "s[threadIdx.x] = e;\n__syncthreads();\n"
        "x[threadIdx.x] = s[31 - threadIdx.x] + __shfl_xor_sync(~0u, e, 1) + __shfl_xor_sync(~0u, e, 2);",
        arch);
    CHECK(others[SassKind::mufu] == 1);
    CHECK(others[SassKind::shared_store] == 1);
    CHECK(others[SassKind::shared_load] == 1);
    CHECK(others[SassKind::shuffle] == 2);
    CHECK(others[SassKind::barrier] >= 1);
    CHECK(others[SassKind::ffma] == 2);
    CHECK(others[SassKind::integer] >= 1);
    CHECK(others[SassKind::branch] >= 1);  // EXIT
    CHECK(others.unknown == 0);
  }
}

TEST_CASE("what a loop repeats is told from what runs once", "[runtime][nvrtc][sass]") {
  if (skip_without_nvrtc()) return;
  for (const std::string arch : kArchs) {
    INFO(arch);
    const SassMix mix = mix_of(
        "float a = x[threadIdx.x];\n"
        "#pragma unroll 1\n"
        "for (int i = 0; i < n; ++i) {\n"
        "  asm volatile(\"ex2.approx.ftz.f32 %0, %0;\" : \"+f\"(a));\n"
        "}\n"
        "asm volatile(\"lg2.approx.ftz.f32 %0, %0;\" : \"+f\"(a));\n"
        "x[threadIdx.x] = a;",
        arch);
    CHECK(mix[SassKind::mufu] == 2);
    CHECK(mix.looped(SassKind::mufu) == 1);
    CHECK(mix[SassKind::global_load] == 1);
    CHECK(mix.looped(SassKind::global_load) == 0);
    CHECK(mix.looped(SassKind::branch) >= 1);
  }
}

TEST_CASE("attention's products are one instruction each", "[runtime][nvrtc][sass]") {
  if (skip_without_nvrtc()) return;
  // A warp with 16 rows multiplies 16 x 64 scores by m16n8k16: tile_kv / 8 x d / 16 of them, and as many for
  // P V. Two kinds of tiles, the last one of a row and the others, have code of their own.
  const CheckedSpec spec = plain_spec(64, 0, DType::f16);
  const Compiled compiled =
      compile_front_end(spec, find_target("a100"), "tile_q=64 tile_kv=64 warps=4 stages=1 min_ctas=1");
  const Built built = build_source(*compiled.source);
  const auto code = find_code(built.cubin, compiled.source->program.back().entry);
  REQUIRE(code);
  CHECK(code->compute_capability == 80);
  const SassMix mix = read_sass(*code);
  constexpr int kOfOneTile = 64 / 8 * 64 / 16 * 2;
  CHECK(mix[SassKind::mma] > 0);
  CHECK(mix[SassKind::mma] % kOfOneTile == 0);
  CHECK(mix.looped(SassKind::mma) >= kOfOneTile);
  CHECK(mix[SassKind::async_copy] > 0);
  CHECK(mix[SassKind::ldsm] > 0);
  CHECK(mix[SassKind::local] == 0);
  CHECK(mix.unknown == 0);
  CHECK(std::accumulate(mix.all.begin(), mix.all.end(), 0) ==
        static_cast<int>(code->instructions.size() / 16));
}

TEST_CASE("spills are instructions, and those in a loop are told", "[runtime][nvrtc][sass]") {
  if (skip_without_nvrtc()) return;
  const SassMix mix = mix_of(
      "volatile float a[64];\n"
      "#pragma unroll 1\nfor (int i = 0; i < n; ++i) a[i] = x[i];\n"
      "x[0] = a[n / 2];",
      "sm_80");
  CHECK(mix[SassKind::local] == 2);
  CHECK(mix.looped(SassKind::local) == 1);
}

TEST_CASE("single instructions, as nvdisasm prints them beside their bits", "[sass]") {
  struct Known {
    std::uint64_t low, high;
    SassKind kind;
  };
  constexpr Known kKnown[] = {
      {0x00000a00ff017624, 0x000fe400078e00ff,
       SassKind::integer},  // IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]; sm_80
      {0x0000007f00007810, 0x000fe20007ffe0ff, SassKind::integer},  // IADD3 R0, R0, 0x7f, RZ; sm_80
      {0x0800000000527802, 0x000fc40000000f00, SassKind::move},     // MOV R82, 0x8000000; sm_80
      {0x0000000400047308, 0x004ea20000001000, SassKind::mufu},     // MUFU.RCP R4, R4; sm_80
      {0x0000000800007c12, 0x008fe4000f8e0cff,
       SassKind::integer},  // LOP3.LUT R0, R0, UR8, RZ, 0xc, !PT; sm_80
      {0x0000000c050c7290, 0x000fe4000fffe03f, SassKind::integer},  // UIADD3 UR12, UR5, UR12, URZ; sm_80
      {0x0000000012007fae, 0x0003e2000f101d48,
       SassKind::async_copy},  // LDGSTS.E.BYPASS.LTC128B.128 [R0], [R18.64], !P6; sm_80
      {0x00001f2617067589, 0x0002a800000e0000, SassKind::shuffle},  // SHFL.IDX PT, R6, R23, R38, 0x1f; sm_80
      {0x0000096000008947, 0x000fea0003800000, SassKind::branch},   // BRA `(.L_x_0); sm_80
      {0x000000080a097981, 0x000ee2000c1e1900, SassKind::global_load},  // LDG.E R9, [R10.64]; sm_80
      {0x00000000fffff984, 0x000fe20000000800, SassKind::shared_load},  // LDS RZ, [RZ]; sm_80
      {0x0000000000007b1d, 0x000fe20000010000, SassKind::barrier},      // BAR.SYNC.DEFER_BLOCKING 0x0; sm_80
      {0x000000002c38783b, 0x000e620000000200, SassKind::ldsm},         // LDSM.16.M88.4 R56, [R44]; sm_80
      {0x800000303b3b7221, 0x000fe20000000000, SassKind::ffma},         // FADD R59, R59, -R48; sm_80
      {0x00000046383c723c, 0x000fe200000810ff, SassKind::mma},  // HMMA.1688.F32.TF32 R60, R56, R70, RZ; sm_80
      {0x000000fcfa2a7209, 0x000fe40007800000, SassKind::fp32},  // FMNMX R42, R250, R252, !PT; sm_80
      {0x000081002c2c7a20, 0x000fe20000400000, SassKind::ffma},  // FMUL R44, R44, c[0x0][0x204]; sm_80
      {0x00008100518f7a23, 0x100fe2000000080c,
       SassKind::ffma},  // FFMA R143, R81, c[0x0][0x204], -R12.reuse; sm_80
      {0x0000002b0200a986, 0x0005ec000c101908, SassKind::global_store},  // STG.E [R2.64], R43; sm_80
      {0x000000000000994d, 0x000fea0003800000, SassKind::branch},        // EXIT; sm_80
      {0x0000100901007387, 0x0005e80000100800, SassKind::local},         // STL [R1+0x10], R9; sm_80
      {0x0000100001167983, 0x000ea20000100800, SassKind::local},         // LDL R22, [R1+0x10]; sm_80
      {0x0000001002007388, 0x0041e80000000c00, SassKind::shared_store},  // STS.128 [R2], R16; sm_75
      {0x00000006201f7c48, 0x000fc6000bfe0100, SassKind::integer},       // VIMNMX R31, R32, UR6, PT; sm_90a
  };
  for (const Known& known : kKnown) {
    const std::string bytes = code_of({{known.low, known.high}});
    const SassMix mix = read_sass({.compute_capability = 80, .instructions = bytes});
    INFO(std::hex << known.low);
    CHECK(mix[known.kind] == 1);
    CHECK(mix.unknown == 0);
  }
  // No operation of the table: it is counted and said.
  const std::string junk = code_of({{0x1fe, 0}});
  CHECK(read_sass({.compute_capability = 80, .instructions = junk}).unknown == 1);
}

TEST_CASE("branches go backwards in the forms of both ages", "[sass]") {
  // `BRA` by -64 bytes, from the end of the instruction: the three before it and itself are the loop.
  constexpr std::uint64_t kNop = 0x918, kWords = static_cast<std::uint64_t>(-16);
  const std::uint64_t before_90 = 0x947 | kWords << 34;
  const std::uint64_t high = kWords >> 30 & 0x3ffff;
  const std::uint64_t since_90 = 0x947 | (kWords & 0xff) << 16 | ~std::uint64_t{0} << 34;
  for (const auto& [capability, low] : {std::pair{80, before_90}, {90, since_90}}) {
    const std::string bytes =
        code_of({{kNop, 0}, {kNop, 0}, {kNop, 0}, {kNop, 0}, {low, high}, {kNop, 0}, {kNop, 0}});
    const SassMix mix = read_sass({.compute_capability = capability, .instructions = bytes});
    INFO(capability);
    CHECK(mix.looped(SassKind::other) == 3);
    CHECK(mix.looped(SassKind::branch) == 1);
  }
}

TEST_CASE("bytes that are no cubin have no code, and none is read beyond their end",
          "[runtime][nvrtc][sass]") {
  for (const char* junk : {"", "x",
                           "\x7f"
                           "ELF"})
    CHECK_FALSE(find_code(junk, "entry"));
  if (skip_without_nvrtc()) return;
  const std::string cubin = cubin_of("x[0] = 1;", "sm_80");
  CHECK(find_code(cubin, "entry"));
  CHECK_FALSE(find_code(cubin, "entr"));
  CHECK_FALSE(find_code(cubin, "other"));
  for (std::size_t end = 0; end < cubin.size(); end += 7) find_code(cubin.substr(0, end), "entry");
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = cubin;
    for (int change = 0; change < 4; ++change)
      changed[random() % (change % 2 == 0 ? 64 : changed.size())] = static_cast<char>(random());
    if (const auto code = find_code(changed, "entry")) {
      const SassMix mix = read_sass(*code);
      CHECK(std::accumulate(mix.all.begin(), mix.all.end(), 0) ==
            static_cast<int>(code->instructions.size() / 16));
    }
  }
}

TEST_CASE("static shared memory is that of the kernel", "[runtime][nvrtc][sass]") {
  if (skip_without_nvrtc()) return;
  const std::string cubin =
      cubin_of("__shared__ float s[100]; s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[n];", "sm_80");
  CHECK(find_code(cubin, "entry")->static_shared_memory == 400);
}
