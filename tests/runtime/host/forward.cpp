// The host kernel against the double reference: every head_dim, odd lengths, groups, layouts, dtypes and
// plans.
#include <cmath>
#include <string>

#include "tests/catch.h"
#include "tests/runtime/host/problem.h"

using namespace fa;
using namespace fa::test;

namespace {

constexpr int kHeadDims[] = {16, 32, 64, 80, 96, 128, 192, 256};
constexpr int kLengths[] = {1, 63, 64, 65, 127, 1000};

std::string text(int head_dim, const char* dtype, const std::string& rest = "") {
  return "attention t\nhead_dim " + std::to_string(head_dim) + "\ndtype " + dtype + "\n" + rest;
}

}  // namespace

TEST_CASE("host: every head_dim and length, grouped heads") {
  for (const int head_dim : kHeadDims) {
    const HostCase full = host_case(text(head_dim, "f32"));
    for (const int length : kLengths) {
      if (length == 1000 && head_dim % 64 != 0) continue;  // the reference is slow
      HostProblem problem{.q_heads = 2, .kv_heads = 1, .q_len = length, .kv_len = length};
      INFO("head_dim " << head_dim << " length " << length);
      CHECK(worst_error(compare(full, problem)) < error_bound(full.spec));
    }
  }
}

TEST_CASE("host: causal and window with different lengths of q and kv") {
  const HostCase window =
      host_case(text(64, "f32",
                     "param window : i32 = 40\nlet d = q_idx + (kv_len - q_len) - kv_idx\n"
                     "mask_mod = d >= 0 and d < window\n"));
  for (const auto& [q_len, kv_len] : {std::pair{1, 1000}, {65, 127}, {127, 65}, {200, 333}, {333, 1}}) {
    HostProblem problem{
        .batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = q_len, .kv_len = kv_len, .params = {{.i32 = 40}}};
    const int shift = kv_len - q_len;
    INFO("q_len " << q_len << " kv_len " << kv_len);
    const Meaning meaning{
        .score = {}, .mask = [&](int, int, int q, int kv) { return q + shift >= kv && q + shift - kv < 40; }};
    CHECK(worst_error(compare(window, problem, meaning)) < error_bound(window.spec));
  }
}

TEST_CASE("host: layouts, dtypes, and a head_dim_v of its own") {
  for (const char* dtype : {"f32", "f16", "bf16"})
    for (const auto& [head_dim, head_dim_v] : {std::pair{64, 64}, {40, 72}, {128, 8}, {8, 200}}) {
      const HostCase full =
          host_case(text(head_dim, dtype, "head_dim_v " + std::to_string(head_dim_v) + "\n"));
      for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::padded}) {
        HostProblem problem{
            .batch = 2, .q_heads = 6, .kv_heads = 3, .q_len = 70, .kv_len = 131, .layout = layout};
        INFO(dtype << " " << head_dim << " " << head_dim_v << " layout " << static_cast<int>(layout));
        CHECK(worst_error(compare(full, problem)) < error_bound(full.spec));
      }
    }
}

TEST_CASE("host: head_dims that the language does not name yet") {
  for (const int head_dim : {1, 3, 7, 17, 33, 100, 255})
    for (const char* dtype : {"f32", "bf16"}) {
      CheckedSpec spec = Spec::parse(text(64, dtype)).checked();
      spec.head_dim = head_dim, spec.head_dim_v = 256 - head_dim;
      const HostCase full = host_case(spec);
      INFO("head_dim " << head_dim << " " << dtype);
      const HostProblem problem{.q_heads = 1, .q_len = 50, .kv_len = 77};
      CHECK(worst_error(compare(full, problem)) < error_bound(spec));
    }
}

TEST_CASE("host: every plan computes the same") {
  const std::string causal = "score_mod = score + 0.01 * (kv_idx - q_idx)\nmask_mod = q_idx >= kv_idx\n";
  const Meaning meaning{.score = [](double s, int, int, int q, int kv) { return s + 0.01 * (kv - q); },
                        .mask = [](int, int, int q, int kv) { return q >= kv; }};
  for (const int tile_q : {1, 7, 16, 33, 64, 100, 192, 256})
    for (const int tile_kv : {16, 48, 112, 1024}) {
      const HostCase host = host_case(text(32, "f32", causal), tile_q, tile_kv);
      INFO("tile_q " << tile_q << " tile_kv " << tile_kv);
      HostProblem problem{.q_heads = 2, .kv_heads = 2, .q_len = 150, .kv_len = 150};
      CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
    }
}

TEST_CASE("host: empty rows are zero and -inf, and nothing is NaN") {
  const HostCase host = host_case(text(64, "f32", "mask_mod = q_idx % 3 != 1 and kv_idx > 100\n"));
  const Meaning meaning{.score = {}, .mask = [](int, int, int q, int kv) { return q % 3 != 1 && kv > 100; }};
  for (const int kv_len : {50, 101, 102, 300}) {
    HostProblem problem{.q_heads = 1, .q_len = 100, .kv_len = kv_len};
    const Compared compared = compare(host, problem, meaning);
    CHECK(worst_error(compared) < error_bound(host.spec));
    CHECK(compared.host.lse[1] == -INFINITY);
    CHECK(compared.host.o[64] == 0.0);
  }
  const HostCase score = host_case(text(16, "f32", "score_mod = where(kv_idx > q_idx, -inf, score)\n"));
  HostProblem problem{.q_heads = 1, .q_len = 80, .kv_len = 80};
  const Meaning minus_inf{.score = [](double s, int, int, int q, int kv) { return kv > q ? -INFINITY : s; },
                          .mask = {}};
  CHECK(worst_error(compare(score, problem, minus_inf)) < error_bound(score.spec));
  const HostCase nothing = host_case(text(16, "f32", "mask_mod = false\n"));
  const Compared empty =
      compare(nothing, problem, {.score = {}, .mask = [](int, int, int, int) { return false; }});
  CHECK(worst_error(empty) == 0.0);
}

TEST_CASE("host: large scores keep their accuracy") {
  const HostCase host = host_case(text(64, "f32"));
  HostProblem problem{.q_heads = 1, .q_len = 64, .kv_len = 200, .spread = 12};
  CHECK(worst_error(compare(host, problem)) <
        2e-4);  // scores of some hundreds carry some 1e-5 of rounding each
}

TEST_CASE("host: a NaN or infinity in the input stays in its own rows") {
  const HostCase host = host_case(text(16, "f32"));
  std::vector<float> q(3 * 16, 0.5f), k(20 * 16, 0.25f), v(20 * 16, 1.0f), o(3 * 16), lse(3);
  q[16] = NAN;
  ForwardParams params{};
  params.q = q.data(), params.k = k.data(), params.v = v.data(), params.o = o.data(), params.lse = lse.data();
  params.q_strides = params.o_strides = {48, 48, 16};
  params.k_strides = params.v_strides = {320, 320, 16};
  params.call.batch = params.call.num_q_heads = params.call.num_kv_heads = params.call.group_size = 1;
  params.call.q_len = 3, params.call.kv_len = 20, params.call.scale = 0.25f, params.call.scale_log2 = 0.36f,
  params.call.keep_scale = 1;
  run_host(*host.kernel, params, 1);
  CHECK(o[0] == 1.0f);
  CHECK(std::isnan(o[16]));
  CHECK(std::isnan(lse[1]));
  CHECK(o[32] == 1.0f);
}
