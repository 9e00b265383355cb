// Specs that the checker accepts can be built and run: parts of the language that no shipped spec uses,
// compiled by NVRTC for every family of GPUs (no GPU is needed) and compared with the fp64 reference on the
// host.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "compiler/compile.h"
#include "compiler/ir/import/import.h"
#include "compiler/ir/range/outside.h"
#include "runtime/build/nvrtc.h"
#include "tests/build_once.h"
#include "tests/catch.h"
#include "tests/numeric/cases.h"
#include "tests/skip.h"
#include "tools/reference/parallel.h"

using namespace fa;
using namespace fa::tools;

namespace {

/// The items of one spec each, after its name and head_dim.
const char* const kItems[] = {
    // Reductions inside reductions, as loops and expanded, of conditions and of numbers.
    "mask_mod = any(i < 33: any(j < 33: i * j == kv_idx))",
    "score_mod = score + sum(i < 33: sum(j < 33: 0.01 * i * j))",
    "score_mod = score + 0.001 * sum(i < 34: sum(j < 33: sum(k < 35: i * q_idx + j - k)))",
    "tensor t : i32[40] = i0 * 3\nmask_mod = any(i < 40: all(j < 34: t[i] * j <= kv_idx) or t[i] == q_idx)",
    "score_mod = score + 0.01 * max(j < 3: sum(i < 33: q_idx - j * i))",
    // Ranges that are known at run time: none, some, all of the iterations.
    "param n : i32 = 5\ntensor t : i32[40] = i0 * 13 % 47\n"
    "score_mod = score + 0.01 * sum(i < n max 8: t[i] + q_idx) + 0.01 * max(i < n max 36: 0.1 * t[i] + "
    "kv_idx)\n"
    "mask_mod = any(i < n max 8: t[i] == kv_idx) or all(i < n max 40: any(j < n max 5: t[i] * j < kv_idx + "
    "q_idx))",
    "param n : i32 = 0\ntensor t : i32[40] = i0\n"
    "score_mod = score + sum(i < n max 8: q_idx) + min(min(i < n max 36: 0.1 * t[i] + kv_idx), 3.0)\n"
    "mask_mod = all(i < n max 8: t[i] == kv_idx) and not any(i < n max 40: t[i] < kv_idx + q_idx)",
    "tensor t : i32[q_len] = i0 % 7\n"
    "mask_mod = any(i < q_len max 256: t[i] + i == kv_idx) or max(i < kv_len - 60 max 200: t[i % q_len]) > "
    "q_idx",
    // Tables of constant extents.
    "tensor pair : f16[4, 256] = 0.01 * (i0 - i1 % 5)\nscore_mod = tanh(score + pair[h, kv_idx])",
    "tensor keep : bool[256, 256] = (i0 * 7 + i1) % 3 != 0\nmask_mod = keep[q_idx, kv_idx]",
    "tensor bits : i32[4, 16] = i0 * 1234567 + i1 * 7654321\nmask_mod = bits[h, q_idx % 16] >> kv_idx % 32 & "
    "1 == 0",
    "tensor small : bf16[7, 5, 3, 2] = 1 + 0.01 * (i0 + i1 + i2 + i3)\n"
    "score_mod = score * small[q_idx % 7, kv_idx % 5, h % 3, b]",
    // Wide and unsigned numbers, and many dimensions.
    "tensor doc : i64[batch, kv_len] = i1 / 40 - 1\ntensor level : u8[256] = i0\n"
    "score_mod = score + 0.01 * level[kv_idx]\n"
    "mask_mod = doc[b, q_idx] == doc[b, kv_idx] and level[q_idx] >= level[kv_idx]",
    "tensor deep : f32[2, 3, 2, 5, 4, 7] = i0 + 0.1 * i1 + 0.01 * i2 + 0.3 * i3 + 0.2 * i4 + i5\n"
    "tensor wide : i64[3, 4, 2, 2, 5] = i0 - i1 + i4\n"
    "score_mod = score + deep[b, q_idx % 3, h % 2, kv_idx % 5, q_idx % 4, kv_idx % 7] +\n"
    "  wide[kv_idx % 3, h, b, q_idx % 2, kv_idx % 5]",
    "tensor bits : i64[kv_len] = -1 << i0 % 32\ntensor mark : u8[q_len] = i0\n"
    "mask_mod = any(k < 40: bits[(k * 7 + q_idx) % kv_len] == 1 << k % 32) or\n"
    "  (bits[kv_idx] & mark[q_idx]) == 0 or q_idx == kv_idx",
    // Functions of the language, of floats and integers, in scores and where they decide something.
    "let d = 0.3 * (q_idx - kv_idx)\n"
    "score_mod = softplus(score) + gelu(d) + silu(score) + relu(d) + log1p(abs(d)) + expm1(-abs(d))",
    "let d = 0.3 * (q_idx - kv_idx)\n"
    "score_mod = score + atan2(score, d) + atan(d) + tan(0.01 * d) + sign(d) + abs(d) ** 0.7 + 0.1 * score "
    "** 3",
    "let d = 0.37 * (q_idx - kv_idx)\n"
    "score_mod = score + 0.1 * (ceil(d) + round(d) + trunc(d) + popcount(q_idx ^ kv_idx) + sign(q_idx - "
    "kv_idx))\n"
    "mask_mod = popcount(q_idx & kv_idx) % 2 == 0 or round(d) > ceil(-d) + trunc(0.5 * d) or q_idx ** 2 > "
    "900",
    "let d = f32(abs(q_idx - kv_idx))\n"
    "mask_mod = d ** 0.3 < 3.0 or log1p(d) > 4.5 or atan2(d, q_idx + 1.0) < 0.3 or expm1(-0.1 * d) > -0.2",
    // Functions of the spec.
    "param window : i32 = 40\nlet near(x, y) = abs(x - y) < window\nlet soft(x, cap) = tanh(x / cap) * cap\n"
    "score_mod = soft(score + soft(0.1 * q_idx, 2), 20)\nmask_mod = near(q_idx, kv_idx) or near(kv_idx, 3)",
};

Spec spec_of(const char* items, DType dtype) {
  return Spec::parse(fmt::format("attention language\nhead_dim 64\n{}\n", items)).with_dtype(dtype);
}

/// The probes that a checked call runs first, where the spec may read outside its tensors.
std::optional<Spec> probe_of(const Spec& spec) {
  const CheckedSpec imported = import_hooks(spec.checked());
  const std::vector<OutsideRead> reads = outside_reads(imported);
  if (reads.empty()) return std::nullopt;
  return Spec(std::make_shared<const CheckedSpec>(probe_rows(imported, reads)));
}

/// The message of a build that fails; empty where it succeeds.
std::string refusal(const Spec& spec, std::string_view target) {
  try {
    tests::build_once(*compile_front_end(spec.checked(), find_target(target)).source);
    return {};
  } catch (const BuildError& error) {
    return fmt::format("{}\n{}", error.what(), error.log());
  } catch (const Error& error) {
    return error.what();
  }
}

/// Builds each of kItems for sm_75, sm_80 and sm_90; or, where they take turns, for one of them.
void build_language(bool in_turns) {
  if (fa::tests::skip_without_nvrtc()) return;
  constexpr std::array<std::string_view, 3> kTargets = {"t4", "a100", "h200"};
  constexpr std::array kDTypes = {DType::f32, DType::f16, DType::bf16};
  struct Build {
    const char* items;
    std::string_view target;
    DType dtype;
    std::string refusal = {};
  };
  std::vector<Build> builds;
  for (std::size_t i = 0; i < std::size(kItems); ++i)
    for (std::size_t t = 0; t < kTargets.size(); ++t) {
      if (in_turns && t != i % kTargets.size()) continue;
      const DType dtype = kDTypes[(i + i / 3 + t) % kDTypes.size()];
      const bool has_it = dtype != DType::bf16 || find_target(kTargets[t]).has_bf16;
      builds.push_back({kItems[i], kTargets[t], has_it ? dtype : DType::f16});
    }
  parallel_for(static_cast<std::int64_t>(builds.size()), 1, [&](std::int64_t i, std::int64_t) {
    Build& build = builds[static_cast<std::size_t>(i)];
    build.refusal = refusal(spec_of(build.items, build.dtype), build.target);
  });
  for (const Build& build : builds) {
    INFO(build.items << "\n" << build.target << ", " << dtype_name(build.dtype) << ": " << build.refusal);
    CHECK(build.refusal.empty());
  }
}

}  // namespace

TEST_CASE("every part of the language builds for sm_75, sm_80 or sm_90", "[nvrtc]") { build_language(true); }

TEST_CASE("every part of the language builds for sm_75, sm_80 and sm_90", "[.][full][nvrtc]") {
  build_language(false);
}

TEST_CASE("what a checked call runs first builds, too", "[nvrtc]") {
  if (fa::tests::skip_without_nvrtc()) return;
  int probes = 0;
  for (const char* items : kItems) {
    const std::optional<Spec> probe = probe_of(spec_of(items, DType::f16));
    if (!probe) continue;
    ++probes;
    const std::string refused = refusal(*probe, "t4");
    INFO(items << "\n" << refused);
    CHECK(refused.empty());
  }
  CHECK(probes >= 5);
}

TEST_CASE("host: every part of the language is within the bound", "[numeric]") {
  for (const char* items : kItems)
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Spec spec = spec_of(items, dtype);
      ProblemInputs inputs;
      inputs.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 70, .kv_len = 150};
      const std::string wrong = failure(compile(spec, uncached(Device::host)), make_problem(spec, inputs));
      INFO(items << "\n" << dtype_name(dtype) << ": " << wrong);
      CHECK(wrong.empty());
    }
}
