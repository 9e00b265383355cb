// Tile classes on the host, seen in the results: empty tiles are not read, full ones run no mask, and calls
// from several threads do not mix their summaries.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "compiler/ir/llvm.h"
#include "tests/catch.h"
#include "tests/runtime/host/problem.h"

using namespace fa;
using namespace fa::test;

namespace {

constexpr int kTileQ = 32, kTileKv = 16, kHeadDim = 16;

std::string text(const std::string& rest) { return "attention t\nhead_dim 16\ndtype f32\n" + rest; }

/// One head, f32, in memory of its own.
struct Inputs {
  int q_len, kv_len;
  std::vector<float> q, k, v, o, lse;

  Inputs(int queries, int keys) : q_len(queries), kv_len(keys) {
    auto fill = [](std::vector<float>& to, int rows, int seed) {
      for (int i = 0; i < rows * kHeadDim; ++i)
        to.push_back(static_cast<float>((i * 37 + seed * 11) % 101) / 50 - 1);
    };
    fill(q, q_len, 1), fill(k, kv_len, 2), fill(v, kv_len, 3);
    o.assign(q.size(), -77.0f), lse.assign(static_cast<std::size_t>(q_len), -77.0f);
  }

  ForwardParams params() {
    ForwardParams p{};
    p.q = q.data(), p.k = k.data(), p.v = v.data(), p.o = o.data(), p.lse = lse.data();
    const long long q_size = static_cast<long long>(q.size()), kv_size = static_cast<long long>(k.size());
    p.q_strides = p.o_strides = {q_size, q_size, kHeadDim};
    p.k_strides = p.v_strides = {kv_size, kv_size, kHeadDim};
    p.call.batch = p.call.num_q_heads = p.call.num_kv_heads = p.call.group_size = 1;
    p.call.q_len = q_len, p.call.kv_len = kv_len;
    p.call.scale = 0.25f, p.call.scale_log2 = 0.36067376f, p.call.keep_scale = 1;
    return p;
  }
};

/// Document of each position: 70, 130 and 200 end one.
const std::vector<std::int32_t>& documents() {
  static const std::vector<std::int32_t> ids = [] {
    std::vector<std::int32_t> made(1000);
    for (int i = 0; i < 1000; ++i) made[static_cast<std::size_t>(i)] = (i >= 70) + (i >= 130) + (i >= 200);
    return made;
  }();
  return ids;
}

/// Kept pairs of 32 x 16 blocks.
const std::vector<std::int8_t>& layout() {
  static const std::vector<std::int8_t> flags = [] {
    std::vector<std::int8_t> made(64 * 64);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = i * i % 7 == 2;
    return made;
  }();
  return flags;
}

struct Mask {
  const char* text;
  const void* table;
  bool (*keeps)(int q_len, int kv_len, int q, int kv);
};

int ceil_div(int a, int b) { return (a + b - 1) / b; }

const Mask kMasks[] = {
    {"mask_mod = q_idx + (kv_len - q_len) >= kv_idx\n", nullptr,
     [](int q_len, int kv_len, int q, int kv) { return q + kv_len - q_len >= kv; }},
    {"mask_mod = abs(q_idx - kv_idx) <= 20\n", nullptr,
     [](int, int, int q, int kv) { return std::abs(q - kv) <= 20; }},
    {"tensor document : i32[max(q_len, kv_len)]\nmask_mod = document[q_idx] == document[kv_idx]\n",
     documents().data(),
     [](int, int, int q, int kv) {
       return documents()[static_cast<std::size_t>(q)] == documents()[static_cast<std::size_t>(kv)];
     }},
    {"tensor layout : bool[ceil_div(q_len, 32), ceil_div(kv_len, 16)]\n"
     "mask_mod = layout[q_idx / 32, kv_idx / 16]\n",
     layout().data(),
     [](int, int kv_len, int q, int kv) {
       return layout()[static_cast<std::size_t>(q / 32 * ceil_div(kv_len, 16) + kv / 16)] != 0;
     }},
    {"mask_mod = kv_idx < 40 and q_idx >= 64\n", nullptr,
     [](int, int, int q, int kv) { return kv < 40 && q >= 64; }},
};

}  // namespace

TEST_CASE("host classes: nothing of an empty tile is read") {
  for (const Mask& mask : kMasks)
    for (const auto& [q_len, kv_len] : {std::pair{250, 250}, {100, 333}, {250, 61}}) {
      const HostCase host = host_case(text(mask.text), kTileQ, kTileKv);
      Inputs clean(q_len, kv_len);
      ForwardParams params = clean.params();
      params.call.tensors[0] = mask.table;
      run_host(*host.kernel, params, 2);
      CHECK(std::none_of(clean.o.begin(), clean.o.end(), [](float x) { return std::isnan(x); }));

      int untouched = 0, touched = 0, wrong = 0;
      for (int kv_tile = 0; kv_tile * kTileKv < kv_len; ++kv_tile) {
        const int first = kv_tile * kTileKv, end = std::min(first + kTileKv, kv_len);
        Inputs poisoned(q_len, kv_len);
        std::fill(poisoned.k.begin() + first * kHeadDim, poisoned.k.begin() + end * kHeadDim, NAN);
        std::fill(poisoned.v.begin() + first * kHeadDim, poisoned.v.begin() + end * kHeadDim, NAN);
        params = poisoned.params();
        params.call.tensors[0] = mask.table;
        run_host(*host.kernel, params, 2);
        for (int q_first = 0; q_first < q_len; q_first += kTileQ) {
          const int q_end = std::min(q_first + kTileQ, q_len);
          bool empty = true;
          for (int q = q_first; q < q_end; ++q)
            for (int kv = first; kv < end; ++kv) empty &= !mask.keeps(q_len, kv_len, q, kv);
          for (int q = q_first; q < q_end; ++q) {
            const auto at = static_cast<std::size_t>(q * kHeadDim);
            if (empty) {
              ++untouched;
              wrong += std::memcmp(&clean.o[at], &poisoned.o[at], kHeadDim * sizeof(float)) != 0;
              wrong += clean.lse[static_cast<std::size_t>(q)] != poisoned.lse[static_cast<std::size_t>(q)];
              continue;
            }
            for (int kv = first; kv < end; ++kv) {
              if (!mask.keeps(q_len, kv_len, q, kv)) continue;
              ++touched;
              wrong += !std::isnan(poisoned.o[at]);
            }
          }
        }
      }
      INFO(mask.text << "q_len " << q_len << " kv_len " << kv_len);
      CHECK(wrong == 0);
      CHECK(untouched > 0);
      CHECK(touched > 0);
    }
}

// A wrong class shows that the kernel uses it: tiles that it calls full keep what the mask would drop, and
// tiles that it calls empty keep nothing.
TEST_CASE("host classes: the class decides, and a full tile runs no mask") {
  for (const int lie : {0, 2}) {
    const CheckedSpec spec = Spec::parse(text("mask_mod = q_idx >= kv_idx\n")).checked();
    const HookIr hooks = lower(spec);
    TileClasses classes = derive_tile_classes(hooks);
    const std::shared_ptr<llvm::Module> liar = merge_modules({classes.module});
    classes.module = liar;
    classes.function = liar->getFunction(classes.function->getName());
    for (llvm::BasicBlock& block : *liar->getFunction(classes.function->getName()))
      if (auto* ret = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
        ret->setOperand(
            0, llvm::ConstantInt::get(ret->getOperand(0)->getType(), static_cast<std::uint64_t>(lie)));
    const HostCase host{.spec = spec,
                        .kernel = load_host(host_object(emit_host(spec, hooks, analyse(spec, hooks), classes,
                                                                  host_plan(32, 16), host_cpu())))};
    const HostProblem problem{.q_heads = 2, .kv_heads = 1, .q_len = 100, .kv_len = 77};
    const Meaning told{.score = {}, .mask = [&](int, int, int, int) { return lie == 2; }};
    CHECK(worst_error(compare(host, problem, told)) < error_bound(spec));
  }
}

TEST_CASE("host classes: full, partial and empty tiles under every kind of score, dtype and dropout") {
  const std::vector<std::int32_t>& ids = documents();
  for (const char* dtype : {"f32", "f16", "bf16"})
    for (const char* score :
         {"", "score_mod = score + 0.01 * (kv_idx - q_idx)\n", "score_mod = 5 * tanh(score / 5)\n"}) {
      const HostCase host =
          host_case(std::string("attention t\nhead_dim 24\nhead_dim_v 40\ndtype ") + dtype +
                        "\ntensor document : i32[max(q_len, kv_len)]\n" + score +
                        "mask_mod = document[q_idx] == document[kv_idx] and q_idx >= kv_idx\ndropout 0.2\n",
                    kTileQ, kTileKv);
      const bool affine = std::strstr(score, "0.01") != nullptr,
                 general = std::strstr(score, "tanh") != nullptr;
      const Meaning meaning{
          .score = [=](double s, int, int, int q,
                       int kv) { return affine    ? s + 0.01 * (kv - q)
                                        : general ? 5 * std::tanh(s / 5)
                                                  : s; },
          .mask =
              [&](int, int, int q, int kv) {
                return ids[static_cast<std::size_t>(q)] == ids[static_cast<std::size_t>(kv)] && q >= kv;
              }};
      for (const auto& [q_len, kv_len] : {std::pair{300, 300}, {77, 301}, {257, 100}, {1, 64}}) {
        HostProblem problem{.batch = 2, .q_heads = 4, .kv_heads = 2, .q_len = q_len, .kv_len = kv_len};
        problem.dropout = 0.2, problem.seed = 5;
        problem.tensors = {ids.data()};
        INFO(dtype << " " << score << "q_len " << q_len << " kv_len " << kv_len);
        CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
      }
    }
}

// Vectors of a panel that keep other kv rows than their neighbours, or none. Scores that were not computed
// hold what an earlier call left, here infinity and NaN, which must not reach the result.
TEST_CASE("host classes: inside a partial tile only what is kept is computed, and nothing else shows") {
  struct Edge {
    const char* text;
    bool (*keeps)(int q, int kv);
  };
  const Edge edges[] = {
      {"q_idx >= kv_idx", [](int q, int kv) { return q >= kv; }},
      {"q_idx <= kv_idx", [](int q, int kv) { return q <= kv; }},
      {"abs(q_idx - kv_idx) <= 9", [](int q, int kv) { return std::abs(q - kv) <= 9; }},
      {"abs(q_idx + kv_idx - 100) <= 5", [](int q, int kv) { return std::abs(q + kv - 100) <= 5; }},
      {"q_idx / 16 == 1 and kv_idx % 30 < 2", [](int q, int kv) { return q / 16 == 1 && kv % 30 < 2; }},
      {"q_idx / 16 % 3 == kv_idx / 10 % 3", [](int q, int kv) { return q / 16 % 3 == kv / 10 % 3; }},
      {"q_idx / 16 % 3 != 1 and kv_idx / 7 % 4 == q_idx / 5 % 4",
       [](int q, int kv) { return q / 16 % 3 != 1 && kv / 7 % 4 == q / 5 % 4; }},
      {"q_idx % 7 == 3 and kv_idx == q_idx", [](int q, int kv) { return q % 7 == 3 && kv == q; }},
  };
  for (const Edge& edge : edges)
    for (const char* score : {"", "score_mod = 5 * tanh(score / 5)\n"})
      for (const int tile_q : {16, 32, 96}) {
        const HostCase host = host_case(std::string("attention t\nhead_dim 16\nhead_dim_v 80\ndtype f32\n") +
                                            score + "mask_mod = " + edge.text + "\n",
                                        tile_q, 64);
        const bool capped = *score != 0;
        const Meaning meaning{
            .score = [=](double s, int, int, int, int) { return capped ? 5 * std::tanh(s / 5) : s; },
            .mask = [&](int, int, int q, int kv) { return edge.keeps(q, kv); }};
        HostProblem problem{.q_heads = 2, .kv_heads = 1, .q_len = 131, .kv_len = 150, .threads = 1};
        problem.spread = 1e30f;  // scores beyond a float
        compare(host, problem, meaning);
        problem.spread = 1;
        INFO(edge.text << " " << score << "tile_q " << tile_q);
        CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
      }
}

// Functions that have no instruction get the same code in the class as in the mask.
TEST_CASE("host classes: a mask that computes in floats") {
  const HostCase host =
      host_case(text("let reach = i32(10 * log2(1.0 + kv_idx) + 3 * sin(0.1 * kv_idx) + exp(sigmoid(0.5)))\n"
                     "tensor strength : f32[kv_len]\n"
                     "mask_mod = abs(q_idx - kv_idx) <= reach and tanh(strength[kv_idx]) > 0.1\n"),
                kTileQ, kTileKv);
  std::vector<float> strength(400);
  for (std::size_t i = 0; i < strength.size(); ++i)
    strength[i] = i / 48 % 2 == 0 ? -1.0f : 0.3f + static_cast<float>(i % 7);
  const Meaning meaning{.score = {}, .mask = [&](int, int, int q, int kv) {
                          const double reach = 10 * std::log2(1.0 + kv) + 3 * std::sin(0.1 * kv) +
                                               std::exp(1 / (1 + std::exp(-0.5)));
                          return std::abs(q - kv) <= static_cast<int>(reach) &&
                                 std::tanh(static_cast<double>(strength[static_cast<std::size_t>(kv)])) > 0.1;
                        }};
  HostProblem problem{.q_heads = 2, .kv_heads = 2, .q_len = 390, .kv_len = 400};
  problem.tensors = {strength.data()};
  CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
}

TEST_CASE("host classes: several threads call one kernel, each with its own tables and lengths") {
  const HostCase host = host_case(
      text("tensor document : i32[max(q_len, kv_len)]\nmask_mod = document[q_idx] == document[kv_idx]\n"),
      kTileQ, kTileKv);
  std::vector<double> errors(6, 1.0);
  {
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < errors.size(); ++i)
      callers.emplace_back([&, i] {
        std::vector<std::int32_t> ids(400);
        for (std::size_t n = 0; n < ids.size(); ++n) ids[n] = static_cast<std::int32_t>(n / (20 + 30 * i));
        const Meaning meaning{.score = {}, .mask = [&](int, int, int q, int kv) {
                                return ids[static_cast<std::size_t>(q)] == ids[static_cast<std::size_t>(kv)];
                              }};
        HostProblem problem{
            .q_heads = 4, .kv_heads = 2, .q_len = 400 - 30 * static_cast<int>(i), .kv_len = 300};
        problem.tensors = {ids.data()};
        problem.threads = 3;
        double worst = 0;
        for (int repeat = 0; repeat < 4; ++repeat)
          worst = std::max(worst, worst_error(compare(host, problem, meaning)));
        errors[i] = worst;
      });
  }
  for (const double error : errors) CHECK(error < error_bound(host.spec));
}
