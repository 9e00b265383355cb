// Runs every seed of every fuzz target, among them inputs that once failed.
#include <algorithm>
#include <filesystem>

#include "runtime/bundle/format.h"
#include "tests/catch.h"
#include "tests/fuzz/targets.h"
#include "tests/tools/temporary.h"

using namespace fa::fuzz;
using fa::tools::read_file;

namespace {

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("what fuzzers start from and once found passes", "[fuzz]") {
  const std::filesystem::path root = FA_SOURCE_DIR;
  for (const Target& target : kTargets) {
    const auto seeds = files_in(root / "tests/fuzz/seeds" / target.name);
    CHECK(seeds.size() >= 3);
    for (const auto& seed : seeds) {
      INFO(seed.string());
      const std::string bytes = read_file(seed);
      CHECK_NOTHROW(target.run(bytes));
      // Also cut off at every place, as a half-written file is.
      for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 300); ++size)
        CHECK_NOTHROW(target.run(std::string_view(bytes).substr(0, size)));
    }
  }
}

TEST_CASE("the bundle fuzzer starts from bundles that the reader takes", "[fuzz]") {
  const std::filesystem::path folder = std::filesystem::path(FA_SOURCE_DIR) / "tests/fuzz/seeds/bundle";
  for (const auto& [name, cubins] :
       {std::pair("manifest.json", 2), std::pair("buckets_and_backward.json", 4)}) {
    INFO(name);
    int found = 0;
    const fa::BundleContents contents =
        fa::decode_bundle(bundle_around(read_file(folder / name).substr(1)), name);
    for (const fa::BundleKernel& kernel : contents.kernels)
      fa::for_each_binary(kernel, [&](const fa::Binary&) { ++found; });
    CHECK(found == cubins);
  }
}

TEST_CASE("every shipped spec and every spec with a mistake goes through the spec target", "[fuzz]") {
  const std::filesystem::path root = FA_SOURCE_DIR;
  for (const char* folder : {"specs", "tests/error"}) {
    for (const auto& path : files_in(root / folder)) {
      if (path.extension() != ".fa") continue;
      INFO(path.string());
      CHECK_NOTHROW(fuzz_spec(read_file(path)));
    }
  }
}
