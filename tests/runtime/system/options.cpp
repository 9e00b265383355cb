// The table of FA_* variables: parsing, defaults, precedence, and that docs/environment.md agrees with it.
#include "runtime/system/options.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;

namespace {

using Variables = std::map<std::string, std::string>;

Environment parse(const Variables& variables) {
  return parse_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Variables& variables) {
  return tests::message_of<Error>([&] { parse(variables); });
}

}  // namespace

TEST_CASE("an empty environment gives the defaults", "[runtime][options]") {
  for (const Environment& e : {parse({}), parse({{"FA_DEVICE", ""}, {"FA_CACHE_SIZE", ""}})}) {
    CHECK(e.device == Device::automatic);
    CHECK(e.cuda_device == 0);
    CHECK(e.num_threads == 0);
    CHECK(e.cpu == CpuLevel::all);
    CHECK(e.plan.empty());
    CHECK(e.disk_cache);
    CHECK(e.cache_dir.empty());
    CHECK(e.cache_size == std::int64_t{1} << 30);
    CHECK(e.template_dir.empty());
    CHECK(e.libcuda == "libcuda.so.1");
    CHECK(e.nvrtc.empty());
    CHECK(e.nvrtc_flags.empty());
  }
}

TEST_CASE("every variable reaches its field", "[runtime][options]") {
  const Environment e = parse({{"FA_DEVICE", "host"},
                               {"FA_CUDA_DEVICE", "3"},
                               {"FA_NUM_THREADS", "12"},
                               {"FA_CPU", "avx512_bf16"},
                               {"FA_PLAN", "tile_q=64"},
                               {"FA_BACKWARD_PLAN", "keys(stages=1)"},
                               {"FA_TARGET", "t4"},
                               {"FA_DETERMINISTIC", "1"},
                               {"FA_DISK_CACHE", "0"},
                               {"FA_CACHE_DIR", "/c"},
                               {"FA_CACHE_SIZE", "12345"},
                               {"FA_CACHE_SHARED", "1"},
                               {"FA_SHIPPED_DIR", "/s"},
                               {"FA_TEMPLATE_DIR", "/t"},
                               {"FA_LIBCUDA", "/l/libcuda.so"},
                               {"FA_NVRTC", "/n"},
                               {"FA_NVRTC_FLAGS", "-lineinfo"}});
  CHECK(e.device == Device::host);
  CHECK(e.cuda_device == 3);
  CHECK(e.num_threads == 12);
  CHECK(e.cpu == CpuLevel::avx512_bf16);
  CHECK(e.plan == "tile_q=64");
  CHECK(e.backward_plan == "keys(stages=1)");
  CHECK(e.target == "t4");
  CHECK(e.deterministic);
  CHECK(resolve({}, e).deterministic);
  CHECK_FALSE(resolve({}, parse({})).deterministic);
  CHECK_FALSE(e.disk_cache);
  CHECK(e.cache_dir == "/c");
  CHECK(e.cache_size == 12345);
  CHECK(e.cache_shared);
  CHECK(e.shipped_dir == "/s");
  CHECK(e.template_dir == "/t");
  CHECK(e.libcuda == "/l/libcuda.so");
  CHECK(e.nvrtc == "/n");
  CHECK(e.nvrtc_flags == "-lineinfo");
  CHECK(environment_variables().size() == 19);
}

TEST_CASE("FA_CPU takes three levels", "[runtime][options]") {
  CHECK(parse({{"FA_CPU", "avx2"}}).cpu == CpuLevel::avx2);
  CHECK(parse({{"FA_CPU", "avx512"}}).cpu == CpuLevel::avx512);
  CHECK(parse({{"FA_CPU", ""}}).cpu == CpuLevel::all);
}

TEST_CASE("sizes take K, M and G", "[runtime][options]") {
  CHECK(parse({{"FA_CACHE_SIZE", "0"}}).cache_size == 0);
  CHECK(parse({{"FA_CACHE_SIZE", "3K"}}).cache_size == 3 * 1024);
  CHECK(parse({{"FA_CACHE_SIZE", "5M"}}).cache_size == 5 * 1024 * 1024);
  CHECK(parse({{"FA_CACHE_SIZE", "2G"}}).cache_size == std::int64_t{2} << 30);
}

TEST_CASE("a bad value names its variable and what was expected", "[runtime][options]") {
  CHECK(refusal({{"FA_DEVICE", "gpu"}}) ==
        "FA_DEVICE='gpu': expected auto, cuda or host; change it or unset it");
  CHECK(refusal({{"FA_CUDA_DEVICE", "-1"}}) ==
        "FA_CUDA_DEVICE='-1': expected a whole number from 0 to 1023; change it or unset it");
  CHECK(refusal({{"FA_NUM_THREADS", "4x"}}) ==
        "FA_NUM_THREADS='4x': expected a whole number from 0 to 4096; change it or unset it");
  CHECK(
      refusal({{"FA_NUM_THREADS", "99999999999999999999"}}) ==
      "FA_NUM_THREADS='99999999999999999999': expected a whole number from 0 to 4096; change it or unset it");
  CHECK(refusal({{"FA_CPU", "sse2"}}) ==
        "FA_CPU='sse2': expected avx2, avx512 or avx512_bf16; change it or unset it");
  CHECK(refusal({{"FA_DISK_CACHE", "yes"}}) == "FA_DISK_CACHE='yes': expected 0 or 1; change it or unset it");
  const std::string size =
      "expected bytes, or a number followed by K, M or G (powers of 1024); change it or unset it";
  for (const char* bad : {"1T", "G", "-1", "1.5G", "9999999999999999G", " 1"})
    CHECK(refusal({{"FA_CACHE_SIZE", bad}}) == fmt::format("FA_CACHE_SIZE='{}': {}", bad, size));
}

TEST_CASE("the cache lies where XDG says, else under home", "[runtime][options]") {
  CHECK(parse({{"HOME", "/h"}}).cache_dir == "/h/.cache/facet");
  CHECK(parse({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).cache_dir == "/x/facet");
  CHECK(parse({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}).cache_dir == "/h/.cache/facet");
  CHECK(parse({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"FA_CACHE_DIR", "/c"}}).cache_dir == "/c");
}

TEST_CASE("options that are set come before the environment", "[runtime][options]") {
  const Environment e = parse({{"FA_DEVICE", "cuda"},
                               {"FA_CUDA_DEVICE", "2"},
                               {"FA_NUM_THREADS", "5"},
                               {"FA_PLAN", "a"},
                               {"FA_BACKWARD_PLAN", "b"},
                               {"FA_CACHE_DIR", "/c"},
                               {"FA_DISK_CACHE", "0"}});
  const Options none = resolve({}, e);
  CHECK(none.device == Device::cuda);
  CHECK(none.cuda_device == 2);
  CHECK(none.num_threads == 5);
  CHECK(none.plan == "a");
  CHECK(none.backward_plan == "b");
  CHECK(resolve({.backward_plan = "c"}, e).backward_plan == "c");
  CHECK(none.cache_dir == "/c");
  CHECK_FALSE(none.disk_cache);
  CHECK(none.memory_cache);
  const Options all = resolve({.device = Device::host,
                               .cuda_device = 1,
                               .num_threads = 7,
                               .plan = "b",
                               .cache_dir = "/d",
                               .disk_cache = true,
                               .memory_cache = false},
                              e);
  CHECK(all.device == Device::host);
  CHECK(all.cuda_device == 1);
  CHECK(all.num_threads == 7);
  CHECK(all.plan == "b");
  CHECK(all.cache_dir == "/d");
  CHECK_FALSE(all.disk_cache);  // turned off for the whole process
  CHECK_FALSE(all.memory_cache);
}

TEST_CASE("docs/environment.md has the table, row for row", "[runtime][options]") {
  const std::string page = tests::read_file(std::string(FA_SOURCE_DIR) + "/docs/environment.md");
  std::string rows;
  for (const EnvironmentVariable& v : environment_variables())
    rows += fmt::format("| `{}` | {} | {} | {} |\n", v.name, v.value, v.initial, v.meaning);
  const std::string rule = "| --- | --- | --- | --- |\n";
  const std::size_t at = page.find(rule);
  REQUIRE(at != page.npos);
  const std::size_t begin = at + rule.size();
  CHECK(page.substr(begin, page.find("\n\n", begin) + 1 - begin) == rows);
}

TEST_CASE("an option that a cast or a miscounted number made is refused by name", "[runtime][options]") {
  const auto says = [](const Options& options) {
    return tests::message_of<ArgumentError>([&] { resolve(options, {}); });
  };
  CHECK(says({.device = static_cast<Device>(77)}) ==
        "Options::device is 77: pass Device::automatic, cuda or host");
  CHECK(says({.cuda_device = -1}) == "Options::cuda_device is -1: a GPU's ordinal is from 0 to 1023");
  CHECK(says({.num_threads = -3}) == "Options::num_threads is -3: it must be from 0, every core, to 4096");
  CHECK_NOTHROW(resolve({.num_threads = 4096}, {}));
}
