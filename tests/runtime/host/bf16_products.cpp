// Host kernels that multiply bf16 by AVX512_BF16's pairs or AMX's tiles, whatever this CPU has: the
// instructions are emulated (tests/runtime/host/emulated.h).
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/runtime/host/emulated.h"
#include "tests/runtime/host/problem.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::test;

namespace {

CheckedSpec bf16_spec(const std::string& items, int head_dim = 64, int head_dim_v = 64) {
  return Spec::parse("attention t\ndtype bf16\nhead_dim " + std::to_string(head_dim) + "\nhead_dim_v " +
                     std::to_string(head_dim_v) + "\n" + items)
      .checked();
}

HostCase case_of(const EmulatedWay& way, const CheckedSpec& spec, int tile_q = 128, int tile_kv = 128) {
  const EmitFor emit = [&](const HostCpu& cpu) { return host_code(spec, tile_q, tile_kv, cpu); };
  return {.spec = spec, .kernel = load_host(way.object(emit))};
}

constexpr std::pair<int, int> kLengths[] = {{1, 1},     {1, 300},   {131, 257}, {128, 128},
                                            {257, 131}, {300, 129}, {129, 640}};

}  // namespace

TEST_CASE("host: bf16 by pairs and by tiles, without a mask and causal") {
  for (const EmulatedWay& way : emulated_ways())
    for (const bool causal : {false, true}) {
      const HostCase host =
          case_of(way, bf16_spec(causal ? "mask_mod = q_idx + kv_len - q_len >= kv_idx\n" : ""));
      for (const auto& [q_len, kv_len] : kLengths) {
        const int shift = kv_len - q_len;
        Meaning meaning;
        if (causal) meaning.mask = [=](int, int, int q, int kv) { return q + shift >= kv; };
        INFO(way.name << " causal " << causal << " q_len " << q_len << " kv_len " << kv_len);
        const HostProblem problem{.q_heads = 3, .kv_heads = 3, .q_len = q_len, .kv_len = kv_len};
        CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
      }
    }
}

TEST_CASE("host: bf16 by pairs and by tiles, every head_dim, layouts and plans") {
  const Meaning meaning{.score = {}, .mask = [](int, int, int q, int kv) { return q - kv < 40; }};
  for (const auto& [head_dim, head_dim_v] :
       {std::pair{8, 8}, {16, 40}, {72, 64}, {128, 128}, {256, 24}, {40, 256}}) {
    const CheckedSpec spec = bf16_spec("mask_mod = q_idx - kv_idx < 40\n", head_dim, head_dim_v);
    std::optional<HostResult> reference;
    for (const EmulatedWay& way : emulated_ways())
      for (const auto& [tile_q, tile_kv] : {std::pair{128, 64}, {40, 48}}) {
        const HostCase host = case_of(way, spec, tile_q, tile_kv);
        for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::padded}) {
          const HostProblem problem{
              .batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = 150, .kv_len = 173, .layout = layout};
          INFO(way.name << " " << head_dim << " " << head_dim_v << " layout " << static_cast<int>(layout)
                        << " tile_q " << tile_q);
          const Compared compared = compare(host, problem, meaning, reference ? &*reference : nullptr);
          if (!reference) reference = compared.reference;
          CHECK(worst_error(compared) < error_bound(host.spec));
          CHECK(compared.gaps_untouched);
        }
      }
  }
}

TEST_CASE("host: bf16 by pairs and by tiles under every kind of score, and rows that keep little") {
  for (const EmulatedWay& way : emulated_ways())
    for (const MeantItems& kind : items_that_keep_little()) {
      const HostCase host = case_of(way, bf16_spec(kind.items));
      for (const auto& [q_len, kv_len] : kLengths) {
        INFO(way.name << " " << kind.items << "q_len " << q_len << " kv_len " << kv_len);
        const HostProblem problem{.batch = 2, .q_heads = 2, .kv_heads = 1, .q_len = q_len, .kv_len = kv_len};
        CHECK(worst_error(compare(host, problem, kind.meaning)) < error_bound(host.spec));
      }
    }
}

TEST_CASE("host: bf16 by pairs and by tiles with dropout") {
  const HostProblem problem{
      .batch = 2, .q_heads = 2, .kv_heads = 1, .q_len = 150, .kv_len = 150, .dropout = 0.3, .seed = 9};
  const Meaning meaning{.score = {}, .mask = [](int, int, int q, int kv) { return q >= kv; }};
  for (const EmulatedWay& way : emulated_ways()) {
    INFO(way.name);
    const HostCase host = case_of(way, bf16_spec("mask_mod = q_idx >= kv_idx\ndropout 0.3\n"));
    CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
  }
}

TEST_CASE("host: the emulated product of pairs is what this CPU computes, bit for bit") {
  if (product_of(DType::bf16, host_cpu()) != HostProduct::pairs) {
    tests::skip("products of pairs as they are: this CPU has no AVX512_BF16, or has AMX");
    return;
  }
  for (const char* items : {"", "mask_mod = q_idx >= kv_idx\nscore_mod = 9 * tanh(score / 9)\n"}) {
    const CheckedSpec spec = bf16_spec(items, 72, 40);
    const HostCase real = host_case(spec, 96, 64);
    const HostCase emulated = case_of({.name = "pairs", .object = object_with_emulated_pairs}, spec, 96, 64);
    // Scores of 1e-38 and less leave some products and sums subnormal.
    for (const float spread : {1.0f, 4.0f, 1e-19f}) {
      const HostProblem problem{.q_heads = 2, .kv_heads = 2, .q_len = 150, .kv_len = 173, .spread = spread};
      INFO(items << "spread " << spread);
      const HostResult a = compare(real, problem).host, b = compare(emulated, problem).host;
      CHECK(a.o == b.o);
      CHECK(a.lse == b.lse);
    }
  }
}

// Emulation runs on CPUs without AVX-512, whose code generator refuses its other instructions.
TEST_CASE("host: products of bf16 alone need AVX-512 and AMX") {
  for (const bool amx : {false, true}) {
    HostCpu cpu = host_cpu();
    cpu.lanes = 16, cpu.registers = 32, cpu.avx512 = false;
    cpu.bf16_pairs = !amx, cpu.amx = amx;
    for (const char* items : {"", "mask_mod = q_idx >= kv_idx\nscore_mod = 9 * tanh(score / 9)\n"}) {
      const std::string text = host_code(bf16_spec(items), 128, 128, cpu).print();
      CHECK(text.find("@llvm.x86.avx512.") == std::string::npos);
      CHECK(text.find(amx ? "@llvm.x86.tdpbf16ps" : "@llvm.x86.avx512bf16.") != std::string::npos);
    }
  }
}
