#include "compiler/target/target.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "tests/catch.h"

using namespace fa;

TEST_CASE("every target is found by its name", "[target]") {
  std::set<std::string_view> names;
  for (const Target& target : all_targets()) {
    CHECK(names.insert(target.name).second);
    CHECK(&find_target(target.name) == &target);
    CHECK_FALSE(target.description.empty());
  }
  CHECK(names == std::set<std::string_view>{"t4", "a100", "a100-40gb", "a10", "l4", "rtx4090", "h100", "h200",
                                            "host"});
}

TEST_CASE("an unknown target's message lists the names", "[target]") {
  CHECK_THROWS_WITH(
      find_target("b200"),
      "no target is called 'b200'; the targets are t4, a100, a100-40gb, a10, l4, rtx4090, h100, h200, host");
  CHECK_THROWS_AS(find_target(""), Error);
}

TEST_CASE("a GPU may be asked for the kernels of one family alone", "[target]") {
  const Target& h200 = find_target("h200");
  const Target& by_sm80 = find_target("h200:sm80");
  CHECK(by_sm80.name == "h200:sm80");
  CHECK(by_sm80.runs(Family::sm80));
  CHECK_FALSE(by_sm80.runs(Family::sm90));
  CHECK(by_sm80.num_sms == h200.num_sms);
  CHECK(by_sm80.nvrtc_arch == h200.nvrtc_arch);
  CHECK(by_sm80.has_bf16);
  CHECK(by_sm80.has_tf32);
  CHECK(&find_target("h200:sm80") == &by_sm80);

  const Target& by_sm75 = find_target("a100:sm75");
  CHECK(by_sm75.families.size() == 1);
  CHECK(by_sm75.runs(Family::sm75));
  CHECK_FALSE(by_sm75.has_bf16);
  CHECK_FALSE(by_sm75.has_tf32);
  CHECK(by_sm75.max_smem_per_sm == find_target("a100").max_smem_per_sm);

  const char* const kFamily = ": after the colon of a GPU stands a family of kernels, sm75, sm80 or sm90";
  for (const char* name : {"h200:", "h200:sm70", "h200:host", "h200:sm80:sm80", "host:sm80", "host:host"})
    CHECK_THROWS_WITH(find_target(name), fmt::format("target '{}'{}", name, kFamily));
  CHECK_THROWS_WITH(find_target("t4:sm80"),
                    "target 't4:sm80': t4 is older than the GPUs that run kernels of sm80");
  CHECK_THROWS_AS(find_target("b200:sm80"), ArgumentError);
  CHECK_THROWS_AS(find_target(":sm80"), ArgumentError);
}

TEST_CASE("a device matches by compute capability, then SMs, then memory", "[target]") {
  constexpr std::int64_t kGB = 1'000'000'000;
  const auto name = [](const Target* target) { return target == nullptr ? "" : target->name; };
  CHECK(name(match_target(75, 40)) == "t4");
  CHECK(name(match_target(80, 108)) == "a100");
  CHECK(name(match_target(80, 108, 42 * kGB)) == "a100-40gb");
  CHECK(name(match_target(80, 108, 85 * kGB)) == "a100");
  CHECK(name(match_target(89, 58)) == "l4");
  CHECK(name(match_target(89, 128)) == "rtx4090");
  CHECK(name(match_target(90, 132)) == "h100");
  CHECK(name(match_target(90, 132, 85 * kGB)) == "h100");
  CHECK(name(match_target(90, 132, 150 * kGB)) == "h200");
  CHECK(name(match_target(90, 114)) == "h100");  // the PCIe card
  CHECK(name(match_target(80, 14)) == "a100");   // a MIG slice
  CHECK(name(match_target(86, 84)) == "a10");
  CHECK(match_target(87, 16) == nullptr);  // sm_89 code does not run there
  CHECK(match_target(0, 0) == nullptr);    // nothing matches the host by number
}

TEST_CASE("datasheet numbers agree with one another", "[target]") {
  for (const Target& target : all_targets()) {
    CAPTURE(target.name);
    if (target.is_host()) continue;
    CHECK(target.max_smem_per_block + target.reserved_smem_per_block <= target.max_smem_per_sm);
    CHECK(target.has_bf16 == (target.compute_capability >= 80));
    CHECK(target.has_tf32 == (target.compute_capability >= 80));
    for (const Family family : target.families)
      CHECK(traits_of(family).compute_capability <= target.compute_capability);
    CHECK(target.nvrtc_arch == "sm_" + std::to_string(target.compute_capability));
    CHECK(target.reserved_smem_per_block == (target.compute_capability >= 80 ? 1024 : 0));
    // Flops a clock and SM come out as the power of two the tensor cores were built with.
    const double flops = target.tensor_tflops * 1e3 / (target.num_sms * target.clock_ghz);
    const double nearest = std::exp2(std::round(std::log2(flops)));
    CHECK(std::abs(flops / nearest - 1) < 0.01);
  }
  const Target& h200 = find_target("h200");
  CHECK(h200.num_sms == 132);
  CHECK(h200.max_smem_per_block == 232448);
  CHECK(h200.hbm_gb_per_s == 4800);
  CHECK(find_target("l4").max_smem_per_block == 101376);
  CHECK(find_target("a100").max_smem_per_block == 166912);
  CHECK(find_target("t4").max_smem_per_block == 65536);
}
