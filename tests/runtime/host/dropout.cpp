// Dropout on the host draws exactly the bits of templates/common/philox.h, whatever the tiling.
#include <cmath>

#include "templates/common/philox.h"
#include "tests/catch.h"
#include "tests/runtime/host/problem.h"

using namespace fa;
using namespace fa::test;

TEST_CASE("philox: the published test vectors") {
  const PhiloxWords zero = philox4x32_7({{0, 0, 0, 0}}, 0, 0);
  CHECK(zero.word[0] == 0x5f6fb709u);
  CHECK(zero.word[3] == 0x4f730a48u);
  const PhiloxWords ones = philox4x32_7({{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u);
  CHECK(ones.word[0] == 0x5207ddc2u);
  CHECK(ones.word[3] == 0x8c52f662u);
  const PhiloxWords pi =
      philox4x32_7({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u, 0x299f31d0u);
  CHECK(pi.word[0] == 0x4dfccabau);
  CHECK(pi.word[1] == 0x190a87f0u);
  CHECK(pi.word[2] == 0xc47362bau);
  CHECK(pi.word[3] == 0xb6b5242au);
}

TEST_CASE("philox: eight elements share a call, each with its own bits") {
  for (unsigned kv = 0; kv < 128; ++kv) {
    const PhiloxWords words = philox4x32_7({{5, kv / 32 * 4 + kv % 8 / 2, 9, 0}}, 77, 1);
    const unsigned word = words.word[kv % 32 / 8];
    CHECK(dropout_bits((1ull << 32) + 77, 9, 5, kv) == (kv % 2 ? word >> 16 : word & 0xffffu));
  }
}

TEST_CASE("host dropout: the kept elements, bit for bit") {
  // With V the identity, o is the matrix of probabilities itself: zero exactly where an element is dropped.
  const std::string text = "attention t\nhead_dim 16\nhead_dim_v 256\ndtype f32\ndropout 0.3\n";
  constexpr int kQLen = 70, kKvLen = 256, kHeads = 3, kBatch = 2;
  std::vector<float> q(kBatch * kHeads * kQLen * 16, 0.0f), k(kBatch * kHeads * kKvLen * 16, 0.0f);
  std::vector<float> v(kKvLen * 256, 0.0f), o(kBatch * kHeads * kQLen * 256), lse(kBatch * kHeads * kQLen);
  for (std::size_t i = 0; i < kKvLen; ++i) v[i * 256 + i] = 1;
  for (const auto& [tile_q, tile_kv] : {std::pair{96, 64}, {48, 16}, {7, 48}, {200, 1024}}) {
    const HostCase host = host_case(text, tile_q, tile_kv);
    for (const unsigned threshold : {0u, 1u, 19661u, 65535u, 65536u}) {
      ForwardParams params{};
      params.q = q.data(), params.k = k.data(), params.v = v.data(), params.o = o.data(),
      params.lse = lse.data();
      params.q_strides = {kHeads * kQLen * 16, kQLen * 16, 16};
      params.k_strides = {kHeads * kKvLen * 16, kKvLen * 16, 16};
      params.v_strides = {0, 0, 256};
      params.o_strides = {kHeads * kQLen * 256, kQLen * 256, 256};
      params.call.batch = kBatch, params.call.num_q_heads = params.call.num_kv_heads = kHeads,
      params.call.group_size = 1;
      params.call.q_len = kQLen, params.call.kv_len = kKvLen, params.call.scale = 1,
      params.call.scale_log2 = 1.4427f;
      params.call.drop_threshold = threshold;
      params.call.keep_scale = threshold < 65536 ? 65536.0f / static_cast<float>(65536 - threshold) : 0.0f;
      params.call.seed = 0x123456789abcdef0ull;
      run_host(*host.kernel, params, 2);
      int wrong = 0;
      for (int head = 0; head < kBatch * kHeads; ++head)
        for (int i = 0; i < kQLen; ++i)
          for (int j = 0; j < kKvLen; ++j) {
            const bool kept = dropout_bits(params.call.seed, static_cast<unsigned>(head),
                                           static_cast<unsigned>(i), static_cast<unsigned>(j)) >= threshold;
            const float expected = kept ? params.call.keep_scale / kKvLen : 0.0f;
            const float got = o[static_cast<std::size_t>((head * kQLen + i) * 256 + j)];
            wrong += std::fabs(got - expected) > 1e-6f * expected;
          }
      INFO("tiles " << tile_q << " " << tile_kv << " threshold " << threshold);
      CHECK(wrong == 0);
      CHECK(std::fabs(lse[5] - std::log(256.0f)) < 1e-6f);  // without dropout
    }
  }
}

TEST_CASE("host dropout: with a mask and a score, in 16 bits") {
  const HostCase host = host_case(
      "attention t\nhead_dim 32\ndtype bf16\nscore_mod = 2 * score\nmask_mod = q_idx >= kv_idx\ndropout "
      "0.5\n");
  HostProblem problem{
      .batch = 2, .q_heads = 2, .kv_heads = 1, .q_len = 130, .kv_len = 130, .dropout = 0.5, .seed = 3};
  const Meaning meaning{.score = [](double s, int, int, int, int) { return 2 * s; },
                        .mask = [](int, int, int q, int kv) { return q >= kv; }};
  CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
}
