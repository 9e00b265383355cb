// Host kernels that multiply by AMX's tiles, on any CPU with AVX-512: the tile instructions are emulated
// (tests/runtime/host/emulated_amx.h).
#include <cmath>
#include <string>

#include "tests/catch.h"
#include "tests/runtime/host/emulated_amx.h"
#include "tests/runtime/host/problem.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::test;

namespace {

bool has_avx512() {
  if (host_cpu().triple.starts_with("x86_64") && host_cpu().avx512) return true;
  tests::skip("this CPU lacks AVX-512");
  return false;
}

HostCase amx_case(const std::string& items, int head_dim = 64, int head_dim_v = 64, int tile_q = 128,
                  int tile_kv = 128) {
  const CheckedSpec spec = Spec::parse("attention t\ndtype bf16\nhead_dim " + std::to_string(head_dim) +
                                       "\nhead_dim_v " + std::to_string(head_dim_v) + "\n" + items)
                               .checked();
  return {.spec = spec, .kernel = build_with_emulated_amx(spec, tile_q, tile_kv)};
}

constexpr std::pair<int, int> kLengths[] = {{1, 1},     {1, 300},   {131, 257}, {128, 128},
                                            {257, 131}, {300, 129}, {129, 640}};

}  // namespace

TEST_CASE("host: AMX's tiles, without a mask and causal") {
  if (!has_avx512()) return;
  for (const bool causal : {false, true}) {
    const HostCase host = amx_case(causal ? "mask_mod = q_idx + kv_len - q_len >= kv_idx\n" : "");
    for (const auto& [q_len, kv_len] : kLengths) {
      const int shift = kv_len - q_len;
      Meaning meaning;
      if (causal) meaning.mask = [=](int, int, int q, int kv) { return q + shift >= kv; };
      INFO("causal " << causal << " q_len " << q_len << " kv_len " << kv_len);
      const HostProblem problem{.q_heads = 3, .kv_heads = 3, .q_len = q_len, .kv_len = kv_len};
      CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
    }
  }
}

TEST_CASE("host: AMX's tiles, every head_dim, layouts and plans") {
  if (!has_avx512()) return;
  for (const auto& [head_dim, head_dim_v] :
       {std::pair{8, 8}, {16, 40}, {72, 64}, {128, 128}, {256, 24}, {40, 256}})
    for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::padded})
      for (const auto& [tile_q, tile_kv] : {std::pair{128, 128}, {40, 48}}) {
        const HostCase host =
            amx_case("mask_mod = q_idx - kv_idx < 40\n", head_dim, head_dim_v, tile_q, tile_kv);
        const HostProblem problem{
            .batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = 150, .kv_len = 173, .layout = layout};
        INFO(head_dim << " " << head_dim_v << " layout " << static_cast<int>(layout) << " tile_q " << tile_q);
        const Meaning meaning{.score = {}, .mask = [](int, int, int q, int kv) { return q - kv < 40; }};
        const Compared compared = compare(host, problem, meaning);
        CHECK(worst_error(compared) < error_bound(host.spec));
        CHECK(compared.gaps_untouched);
      }
}

TEST_CASE("host: AMX's tiles under every kind of score, and rows that keep little") {
  if (!has_avx512()) return;
  struct Kind {
    std::string items;
    Meaning meaning;
  };
  const Kind kinds[] = {
      {"score_mod = 9 * tanh(score / 9)\nmask_mod = q_idx >= kv_idx and q_idx - kv_idx < 20\n",
       {[](double s, int, int, int, int) { return 9 * std::tanh(s / 9); },
        [](int, int, int q, int kv) { return q >= kv && q - kv < 20; }}},
      {"score_mod = score + 0.01 * (kv_idx - q_idx)\nmask_mod = q_idx >= kv_idx + 9\n",
       {[](double s, int, int, int q, int kv) { return s + 0.01 * (kv - q); },
        [](int, int, int q, int kv) { return q >= kv + 9; }}},
      {"mask_mod = q_idx % 3 == 0 and kv_idx % 7 == 0\n",
       {{}, [](int, int, int q, int kv) { return q % 3 == 0 && kv % 7 == 0; }}},
  };
  for (const Kind& kind : kinds) {
    const HostCase host = amx_case(kind.items);
    for (const auto& [q_len, kv_len] : kLengths) {
      INFO(kind.items << "q_len " << q_len << " kv_len " << kv_len);
      const HostProblem problem{.batch = 2, .q_heads = 2, .kv_heads = 1, .q_len = q_len, .kv_len = kv_len};
      CHECK(worst_error(compare(host, problem, kind.meaning)) < error_bound(host.spec));
    }
  }
}

TEST_CASE("host: AMX's tiles with dropout") {
  if (!has_avx512()) return;
  const HostCase host = amx_case("mask_mod = q_idx >= kv_idx\ndropout 0.3\n");
  const HostProblem problem{
      .batch = 2, .q_heads = 2, .kv_heads = 1, .q_len = 150, .kv_len = 150, .dropout = 0.3, .seed = 9};
  const Meaning meaning{.score = {}, .mask = [](int, int, int q, int kv) { return q >= kv; }};
  CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
}
