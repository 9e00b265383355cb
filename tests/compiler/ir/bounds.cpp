// Which indices are proved to be inside their tensor and which are clamped. A needless clamp costs time; a
// missing one would read outside. (lower.cpp runs random hooks to check that the proofs are right.)
#include "compiler/ir/range/bounds.h"

#include "compiler/ir/hook_ir.h"
#include "compiler/spec/spec.h"
#include "tests/catch.h"

namespace {

using namespace fa;

struct Case {
  const char* extents;
  const char* indices;
  const char* clamped;  // the dimensions that are, as digits
};

std::string clamped_dimensions(const Case& c) {
  const Spec spec =
      Spec::parse(std::string("attention t\nhead_dim 64\nparam n : i32 = 4\nparam w : i32 = 4\n"
                              "tensor other : i32[n, 8]\ntensor t : f32[") +
                  c.extents + "]\nscore_mod = score + t[" + c.indices + "] + f32(other[0, 0]) + f32(w)\n");
  std::string dimensions;
  for (const ClampedRead& read : lower(spec.checked()).clamped)
    if (read.tensor == "t") dimensions += std::to_string(read.dimension);
  return dimensions;
}

}  // namespace

TEST_CASE("indices that are proved in range, and those that are not") {
  const Case cases[] = {
      // names
      {"num_q_heads", "h", ""},
      {"batch", "b", ""},
      {"q_len", "q_idx", ""},
      {"kv_len", "kv_idx", ""},
      {"kv_len", "q_idx", "0"},
      {"num_kv_heads", "h", "0"},
      {"num_kv_heads", "h / group_size", ""},
      {"batch, num_q_heads, q_len, kv_len", "b, h, q_idx, kv_idx", ""},
      {"batch, num_q_heads, q_len, kv_len", "b, q_idx, h, kv_idx", "12"},
      // sums
      {"kv_len + q_len", "kv_idx + q_idx", ""},
      {"kv_len + q_len - 1", "kv_idx + q_idx", ""},
      {"kv_len + q_len - 2", "kv_idx + q_idx", "0"},
      {"kv_len + q_len - 1", "kv_idx - q_idx + q_len - 1", ""},
      {"kv_len + q_len", "kv_idx - q_idx", "0"},
      {"2 * kv_len", "2 * kv_idx + 1", ""},
      {"2 * kv_len", "kv_idx * 2 + 2", "0"},
      {"kv_len", "kv_len - 1 - kv_idx", ""},
      {"kv_len", "kv_idx - 1", "0"},
      {"kv_len", "q_idx + (kv_len - q_len)", "0"},
      {"kv_len", "max(q_idx + (kv_len - q_len), 0)", ""},
      // blocks
      {"ceil_div(q_len, 64)", "q_idx / 64", ""},
      {"(q_len + 63) / 64", "q_idx / 64", ""},
      {"(q_len + 63) >> 6", "q_idx >> 6", ""},
      {"q_len / 64", "q_idx / 64", "0"},
      {"q_len / 64 + 1", "q_idx / 64", ""},
      {"ceil_div(q_len, 96)", "q_idx / 96", ""},
      {"ceil_div(q_len, 128)", "q_idx / 64", "0"},
      {"ceil_div(kv_len, 64) * 64", "kv_idx / 64 * 64 + kv_idx % 64", ""},
      {"kv_len", "kv_idx / 64 * 64", ""},
      // remainders and bits
      {"8", "kv_idx % 8", ""},
      {"8", "kv_idx & 7", ""},
      {"8", "(kv_idx - q_idx) % 8", ""},
      {"8", "(kv_idx - q_idx) & 7", ""},
      {"7", "kv_idx & 7", "0"},
      {"n", "kv_idx % n", ""},
      {"w", "kv_idx % w", ""},
      {"8", "kv_idx % w", "0"},
      {"kv_len", "q_idx % kv_len", ""},
      {"256", "kv_idx & 127 | 128", ""},
      {"16", "kv_idx % 16 ^ 5", ""},
      // bounds by min, max, clamp, where
      {"257", "clamp(kv_idx - q_idx, -128, 128) + 128", ""},
      {"256", "clamp(kv_idx - q_idx, -128, 128) + 128", "0"},
      {"kv_len", "min(q_idx, kv_len - 1)", ""},
      {"kv_len", "min(q_idx, kv_len)", "0"},
      {"n", "clamp(kv_idx, 0, n - 1)", ""},
      {"n", "clamp(kv_idx - q_idx, 0, n - 1)", ""},
      {"n", "clamp(kv_idx, 0, n)", "0"},
      {"kv_len", "where(q_idx < kv_len, kv_idx, 0)", ""},
      {"64", "abs(clamp(kv_idx - q_idx, -63, 63))", ""},
      {"9", "i32(kv_idx > q_idx) + 7", ""},
      // reductions
      {"kv_len, 8", "kv_idx, max(i < 8: i)", ""},
      {"kv_len, 8", "kv_idx, sum(i < 8: i)", "1"},
      {"29", "sum(i < 8: i)", "0"},
      {"57", "sum(i < 8: i)", ""},
      {"q_len * 8", "q_idx * 8 + max(i < 8: i)", ""},
      {"q_len * 8 - 1", "q_idx * 8 + max(i < 8: i)", "0"},
      // minima and maxima in the extent
      {"max(q_len, kv_len)", "q_idx", ""},
      {"max(q_len, kv_len)", "kv_idx", ""},
      {"max(q_len, kv_len)", "max(q_idx, kv_idx)", ""},
      {"max(q_len, kv_len) + 1", "kv_idx + 1", ""},
      {"max(q_len, kv_len)", "kv_idx + 1", "0"},
      {"max(q_len, 4 * kv_len, n)", "4 * kv_idx + 3", ""},
      {"min(q_len, kv_len)", "kv_idx", "0"},
      {"min(q_len, kv_len)", "min(kv_idx, q_len - 1)", ""},
      {"2 * max(q_len, kv_len) - 1", "q_idx - kv_idx + kv_len - 1", "0"},
      {"q_len + kv_len - min(q_len, kv_len)", "kv_idx", ""},
      {"ceil_div(max(q_len, kv_len), 16)", "q_idx / 16", ""},
      // quotients by a param, which the extent shows to be positive
      {"ceil_div(batch, w)", "b / w", ""},
      {"ceil_div(q_len, w), ceil_div(kv_len, w)", "q_idx / w, kv_idx / w", ""},
      {"ceil_div(q_len, w)", "kv_idx / w", "0"},
      {"ceil_div(q_len, w)", "q_idx / n", "0"},
      {"ceil_div(q_len, w) - 1", "q_idx / w", "0"},
      {"q_len / w", "q_idx / w", "0"},
      {"q_len / w + 1", "q_idx / w", "0"},
      {"q_len / w + 1, w", "q_idx / w, q_idx % w", ""},
      {"ceil_div(q_len, w), w", "q_idx / w, q_idx % w", ""},
      {"ceil_div(q_len + kv_len, w)", "(q_idx + kv_idx) / w", ""},
      {"ceil_div(q_len, max(w, 1))", "q_idx / max(w, 1)", ""},
      // ranges that are known only at run time
      {"n", "max(i < n max 64: i)", ""},
      {"n, 64", "max(i < n max 64: i), max(i < n max 64: i)", ""},
      {"n, 64", "max(i < n max 65: i), max(i < n max 65: i)", "1"},
      {"n", "max(i < w max 64: i)", "0"},
      {"n", "max(i < min(n, 40) max 64: i)", ""},
      {"n", "max(min(w, n - 1), 0)", ""},
      // numbers, params, reads: unknown
      {"4", "3", ""},
      {"4", "4", "0"},
      {"n", "w", "0"},
      {"n", "n - 1", ""},
      {"kv_len", "other[0, 0]", "0"},
      {"kv_len", "i32(score)", "0"},
      // what may wrap around proves nothing
      {"kv_len", "kv_idx * w / w", "0"},
      {"kv_len", "(kv_idx * 1024 + 5) / 1024", "0"},
  };
  for (const Case& c : cases) {
    INFO("t[" << c.extents << "] read at [" << c.indices << "]");
    CHECK(clamped_dimensions(c) == c.clamped);
  }
}

TEST_CASE("inside a reduction its index stays below the range, also where iterations are expanded") {
  const auto clamped = [](const std::string& items) {
    const HookIr hooks =
        lower(Spec::parse("attention t\nhead_dim 64\nparam n : i32 = 4\n" + items).checked());
    return std::to_string(hooks.clamped.size()) +
           (hooks.print().find("llvm.smin") == std::string::npos ? "" : " min");
  };
  // 64 iterations are a loop, which never reads past n; 8 are expanded, and those past n must read something.
  const std::string table = "tensor t : i32[n]\nmask_mod = ";
  CHECK(clamped(table + "any(i < n max 64: t[i] == kv_idx)") == "0 min");  // of n and 64
  CHECK(clamped(table + "any(i < n max 8: t[i] == kv_idx)") == "0 min");
  CHECK(clamped(table + "any(i < n max 8: t[i + 1] == kv_idx)") == "1 min");
  CHECK(clamped("tensor t : i32[8]\nmask_mod = any(i < n max 8: t[i] == kv_idx)") == "0");
  CHECK(clamped("tensor t : i32[n + 2]\nmask_mod = any(i < n max 8: t[i + 2] == kv_idx) and n > 3") ==
        "1 min");
}

TEST_CASE("a clamped read is recorded once, where it stands") {
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 64\ntensor t : i32[kv_len, 8]\n"
      "mask_mod = any(i < 8: t[q_idx, i] == kv_idx)\n");
  const HookIr hooks = lower(spec.checked());
  REQUIRE(hooks.clamped.size() == 1);
  CHECK(hooks.clamped[0].tensor == "t");
  CHECK(hooks.clamped[0].dimension == 0);
  CHECK(hooks.clamped[0].line == 4);
  CHECK(hooks.clamped[0].column == 25);
}

TEST_CASE("a proof over deeply shared minima ends") {
  std::string text = "attention t\nhead_dim 64\ntensor t : f32[kv_len]\nlet m0 = q_idx * 3\n";
  for (int i = 1; i <= 60; ++i) {
    const std::string last = "m" + std::to_string(i - 1);
    text += "let m" + std::to_string(i) + " = min(" + last + ", max(" + last + ", kv_idx))\n";
  }
  const Spec spec = Spec::parse(text + "score_mod = score + t[m60]\n");
  CHECK(lower(spec.checked()).clamped.size() == 1);
}
