// Objects as a cache keeps them, keys, printed stages, and kernels used by several threads at once.
#include "runtime/host/jit.h"

#include <fmt/format.h>

#include <thread>

#include "fa/error.h"
#include "tests/catch.h"
#include "tests/runtime/host/problem.h"

using namespace fa;
using namespace fa::test;

namespace {

const char* const kText =
    "attention t\nhead_dim 32\ndtype f32\nscore_mod = 20 * tanh(score / 20)\nmask_mod = q_idx >= kv_idx\n";

CheckedSpec spec_of(const std::string& text = kText) { return Spec::parse(text).checked(); }

}  // namespace

TEST_CASE("host object: survives storage, and a damaged one is refused") {
  const std::string object = host_object(host_code(spec_of(), 96, 64));
  const HostCase host{.spec = spec_of(), .kernel = load_host(object)};
  const HostProblem problem{.q_heads = 2, .kv_heads = 2, .q_len = 60, .kv_len = 60};
  const Meaning meaning{.score = [](double s, int, int, int, int) { return 20 * std::tanh(s / 20); },
                        .mask = [](int, int, int q, int kv) { return q >= kv; }};
  CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
  CHECK(host.kernel->info.workspace_bytes > 96 * 32 * 4 * 2);

  CHECK_THROWS_AS(load_host(""), BuildError);
  CHECK_THROWS_AS(load_host("not an object"), BuildError);
  CHECK_THROWS_AS(load_host(object.substr(0, object.size() / 2)), BuildError);
}

TEST_CASE("host key: tells apart what makes other code") {
  auto key = [](const std::string& text, int tile_kv) {
    const CheckedSpec spec = spec_of(text);
    return host_key(spec, compile_front_end(spec, host_target(), fmt::format("tile_kv={}", tile_kv)));
  };
  const std::string base = key(kText, 64);
  CHECK(key(kText, 64) == base);
  CHECK(key(kText, 128) != base);
  CHECK(key("attention t\nhead_dim 32\ndtype bf16\nscore_mod = 20 * tanh(score / 20)\nmask_mod = q_idx >= "
            "kv_idx\n",
            64) != base);
  CHECK(key("attention t\nhead_dim 64\ndtype f32\nscore_mod = 20 * tanh(score / 20)\nmask_mod = q_idx >= "
            "kv_idx\n",
            64) != base);
  CHECK(key(std::string(kText) + "dropout 0.1\n", 64) != base);
  CHECK(key("attention t\nhead_dim 32\ndtype f32\nmask_mod = q_idx >= kv_idx\n", 64) != base);
}

TEST_CASE("host stages print") {
  const std::string ir = host_code(spec_of(), 96, 64).print();
  CHECK(ir.find("@facet_host_step(ptr") != std::string::npos);
  CHECK(ir.find("@facet_host_info") != std::string::npos);
  CHECK(ir.find("@score_mod") == std::string::npos);  // inlined
  const std::string text = host_asm(host_code(spec_of(), 96, 64));
  CHECK(text.find("facet_host_step:") != std::string::npos);
}

TEST_CASE("host plan: out of range is refused") {
  CHECK_THROWS_AS(host_code(spec_of(), 0, 64), InternalError);
  CHECK_THROWS_AS(host_code(spec_of(), 64, 40), InternalError);
}

TEST_CASE("host kernel: several threads at once, each with several") {
  const HostCase host = host_case(kText);
  const Meaning meaning{.score = [](double s, int, int, int, int) { return 20 * std::tanh(s / 20); },
                        .mask = [](int, int, int q, int kv) { return q >= kv; }};
  std::vector<double> errors(6, 1.0);
  {
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < errors.size(); ++i)
      callers.emplace_back([&, i] {
        HostProblem problem{
            .q_heads = 4, .kv_heads = 2, .q_len = 100 + static_cast<int>(i), .kv_len = 200, .threads = 3};
        for (int repeat = 0; repeat < 3; ++repeat) errors[i] = worst_error(compare(host, problem, meaning));
      });
  }
  for (const double error : errors) CHECK(error < error_bound(host.spec));
}

TEST_CASE("host kernel: without lse, and nothing to do") {
  const HostCase host = host_case("attention t\nhead_dim 16\ndtype f32\n");
  std::vector<float> q(16, 1.0f), o(16, 5.0f);
  ForwardParams params{};
  params.q = params.k = params.v = q.data(), params.o = o.data();
  params.q_strides = params.k_strides = params.v_strides = params.o_strides = {16, 16, 16};
  params.call.batch = params.call.num_q_heads = params.call.num_kv_heads = params.call.group_size =
      params.call.q_len = 1;
  params.call.scale = params.call.scale_log2 = 1;
  params.call.kv_len = 0;  // no keys: an empty row
  run_host(*host.kernel, params);
  CHECK(o[3] == 0.0f);
  params.call.kv_len = 1;
  run_host(*host.kernel, params);
  CHECK(o[3] == 1.0f);
  params.call.batch = 0, o[3] = 7;
  run_host(*host.kernel, params);
  CHECK(o[3] == 7.0f);
}
