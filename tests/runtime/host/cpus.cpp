// Code for CPUs with fewer features than this one: narrower vectors, fewer registers, no FMA, no gathers, no
// half-precision instructions. This CPU can run it, too, so it is compared with the reference.
#include <cmath>
#include <sstream>
#include <string>

#include "tests/catch.h"
#include "tests/runtime/host/problem.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::test;

namespace {

struct Kind {
  const char* name;
  const char* features;
  const char* needs;  // this machine's feature without which the code cannot run here
  int lanes;
};

constexpr Kind kKinds[] = {
    {"x86-64", "", "", 4},
    {"nehalem", "+sse4.2", "+sse4.2", 4},
    {"haswell", "+avx,+avx2,+fma,+f16c,+bmi,+bmi2", "+avx2", 8},
    {"skylake-avx512", "+avx,+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl", "+avx512vl", 16},
    {"znver4", "+avx,+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512bf16", "+avx512bf16", 16},
    {"sapphirerapids", "+avx,+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl,+amx-bf16,+amx-tile",
     "+amx-tile", 16},
};

HostCase host_case_for(const Kind& kind, const std::string& text) {
  const CheckedSpec spec = Spec::parse(text).checked();
  const HostCpu cpu = host_cpu_with(kind.name, kind.features);
  CHECK(cpu.lanes == kind.lanes);
  return {.spec = spec, .kernel = load_host(host_object(host_code(spec, 40, 48, cpu)))};
}

}  // namespace

TEST_CASE("host kernel: code for other x86 CPUs") {
  if (!host_cpu().triple.starts_with("x86_64")) {
    tests::skip("this is no x86-64 machine");
    return;
  }
  std::vector<std::int8_t> table(300);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int8_t>(i * 29 % 256);
  const Meaning meaning{
      .score = [&](double s, int, int, int q,
                   int kv) { return 9 * std::tanh(s / 9) + 0.01 * table[static_cast<std::size_t>(q + kv)]; },
      .mask = [](int, int, int q, int kv) { return q / 3 >= kv / (q % 5 + 1); }};
  for (const Kind& kind : kKinds) {
    if (host_cpu().features.find(kind.needs) == std::string::npos) {
      tests::skip(std::string("code for ") + kind.name + ": this CPU lacks " + kind.needs);
      continue;
    }
    for (const char* dtype : {"f32", "f16", "bf16"}) {
      const HostCase host =
          host_case_for(kind, std::string("attention t\nhead_dim 48\nhead_dim_v 40\ndtype ") + dtype +
                                  "\ntensor table : i8[q_len + kv_len]\nscore_mod = 9 * tanh(score / 9) + "
                                  "0.01 * table[q_idx + kv_idx]\n"
                                  "mask_mod = q_idx / 3 >= kv_idx / (q_idx % 5 + 1)\ndropout 0.25\n");
      HostProblem problem{
          .batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = 61, .kv_len = 130, .dropout = 0.25, .seed = 9};
      problem.tensors = {table.data()};
      INFO(kind.name << " " << dtype);
      for (const double dropout : {0.0, 0.25}) {
        problem.dropout = dropout;
        CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec, dropout));
      }
    }
  }
}

// By default a stack is aligned to 16 bytes. A 32-byte vector there may cross a cache line; then reading it takes twice as long.
TEST_CASE("host kernel: vectors that do not fit the registers are spilled to aligned places") {
  if (!host_cpu().triple.starts_with("x86_64")) {
    tests::skip("this is no x86-64 machine");
    return;
  }
  const CheckedSpec spec =
      Spec::parse("attention t\nhead_dim 64\ndtype f32\nscore_mod = 9 * tanh(score / 9)\n").checked();
  const HostCpu cpu = host_cpu_with("haswell", "+avx,+avx2,+fma,+f16c,+bmi,+bmi2");
  std::istringstream text(host_asm(host_code(spec, 96, 64, cpu)));
  int aligned = 0, others = 0;
  for (std::string line; std::getline(text, line);)
    if (line.find("(%rsp)") != std::string::npos && line.find("%ymm") != std::string::npos)
      ++(line.find("vmovups") == std::string::npos ? aligned : others);
  CHECK(aligned > 0);
  CHECK(others == 0);
}

// Code that this machine cannot run can still be generated.
TEST_CASE("host kernel: bf16 uses AMX's tiles where the CPU has them, else AVX512_BF16") {
  if (!host_cpu().triple.starts_with("x86_64")) {
    tests::skip("this is no x86-64 machine");
    return;
  }
  const std::string avx512 = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512bf16";
  const HostCpu with_pairs = host_cpu_with("znver4", avx512);
  const HostCpu cpu = host_cpu_with("sapphirerapids", avx512 + ",+amx-bf16,+amx-tile");
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    const CheckedSpec spec =
        Spec::parse(std::string("attention t\nhead_dim 64\nmask_mod = q_idx >= kv_idx\ndtype ") + dtype)
            .checked();
    const std::string text = host_asm(host_code(spec, 96, 64, cpu));
    const bool tiles = spec.dtype == DType::bf16;
    CHECK((text.find("tdpbf16ps") != std::string::npos) == tiles);
    CHECK(text.find("vdpbf16ps") == std::string::npos);
    const std::string pairs = host_asm(host_code(spec, 96, 64, with_pairs));
    CHECK((pairs.find("vdpbf16ps") != std::string::npos) == tiles);
    CHECK(pairs.find("tdpbf16ps") == std::string::npos);
    CHECK((text.find("ldtilecfg") != std::string::npos) == tiles);
    CHECK((text.find("tilerelease") != std::string::npos) == tiles);
  }
}
