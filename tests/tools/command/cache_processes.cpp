// The disk cache between processes: one loads what another has built, and says so.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/emit/host/sources_hash.h"
#include "runtime/build/nvrtc_find.h"
#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"

using namespace fa;
using namespace fa::tools;

namespace {

nlohmann::json run_once(const tests::TemporaryFolder& folder, const std::vector<std::string>& settings = {},
                        const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = settings;
  all.push_back("FA_CACHE_DIR=" + folder.path());
  std::vector<std::string> words = {
      "run", source_path("specs/causal.fa"), "--device", "host", "--q-len", "64", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const auto ran = run_program("facet", words, all);
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  return nlohmann::json::parse(ran.out).at("kernel");
}

}  // namespace

TEST_CASE("a second process loads the host kernel that the first one built", "[tools][cache]") {
  const tests::TemporaryFolder folder;
  const nlohmann::json first = run_once(folder), second = run_once(folder);
  CHECK(first["compile_ms"]["source"] == "compiled");
  CHECK(first["cache"]["miss"] == "no entry");
  CHECK(first["cache"]["not_kept"] == "");
  CHECK(second["compile_ms"]["source"] == "disk cache");
  CHECK(second["compile_ms"]["build"] == 0);
}

TEST_CASE("a second process loads the backward pass that the first one built", "[tools][cache][backward]") {
  const tests::TemporaryFolder folder;
  run_once(folder);
  const nlohmann::json first = run_once(folder, {}, {"--backward"}),
                       second = run_once(folder, {}, {"--backward"});
  CHECK(first["compile_ms"]["source"] == "compiled");  // its forward pass was there
  CHECK(second["compile_ms"]["source"] == "disk cache");
  CHECK(second["compile_ms"]["build"] == 0);
}

TEST_CASE("a second process takes a GPU's kernel from disk and loads no NVRTC", "[tools][cache][nvrtc]") {
  if (tests::skip_without_nvrtc()) return;
  const tests::TemporaryFolder cache, other;
  // A file that the cache takes for NVRTC, by its name, size and time, and that no process can load.
  const std::filesystem::path real = std::filesystem::canonical(nvrtc_search().library);
  const std::string junk = other / real.filename().string();
  tests::write_file(junk, "no library");
  std::filesystem::resize_file(junk, std::filesystem::file_size(real));
  std::filesystem::last_write_time(junk, std::filesystem::last_write_time(real));
  const auto run = [&](const std::string& folder, const std::string& nvrtc) {
    return run_program("facet",
                       {"run", source_path("specs/causal.fa"), "--device", "cuda", "--dtype", "f16",
                        "--head-dim", "64", "--q-len", "64", "--repeat", "1"},
                       {"FA_LIBCUDA=" + program_path("fake_libcuda.so"), "FA_CACHE_DIR=" + folder,
                        "FA_TUNE_DIR=" + (other / "tuned"), "FA_NVRTC=" + nvrtc});
  };
  const auto first = run(cache.path(), real.string());
  INFO(first.out << first.err);
  REQUIRE(first.status == 0);
  CHECK(missing(first.out, {"build ", "the driver's start ", "load "}) == "");
  const auto second = run(cache.path(), junk);
  INFO(second.out << second.err);
  CHECK(second.status == 0);
  CHECK(missing(second.out, {"disk cache", "the driver's start ", "load "}) == "");
  CHECK(run(other / "empty", junk).status != 0);  // without the entry it would have to be loaded
}

TEST_CASE("how long the driver takes to start is no part of a GPU kernel's other times",
          "[tools][cache][nvrtc]") {
  if (tests::skip_without_nvrtc()) return;
  const tests::TemporaryFolder folder;
  for (const char* device : {"cuda", "auto"}) {
    INFO(device);
    const auto ran = run_program("facet",
                                 {"run", source_path("specs/causal.fa"), "--device", device, "--dtype", "f16",
                                  "--head-dim", "64", "--q-len", "64", "--repeat", "1", "--json"},
                                 {"FA_LIBCUDA=" + program_path("fake_libcuda.so"), "FAKE_CUDA_START=400",
                                  "FA_CACHE_DIR=" + folder.path(), "FA_TUNE_DIR=" + (folder / "tuned")});
    INFO(ran.out << ran.err);
    REQUIRE(ran.status == 0);
    const nlohmann::json times = nlohmann::json::parse(ran.out)["kernel"]["compile_ms"];
    CHECK(times["driver"] >= 400);
    CHECK(times["front_end"].get<double>() + times["load"].get<double>() + times["build"].get<double>() +
              times["driver"].get<double>() <=
          times["total"].get<double>());
  }
}

TEST_CASE("a process says why it did not load or keep a kernel", "[tools][cache]") {
  const tests::TemporaryFolder folder;
  run_once(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    tests::write_file(entry.path().string(), "no entry at all");
  CHECK(run_once(folder)["cache"]["miss"] == "damaged");
  CHECK(run_once(folder)["compile_ms"]["source"] == "disk cache");
  CHECK(run_once(folder, {"FA_CACHE_SIZE=1"})["compile_ms"]["source"] == "disk cache");

  const tests::TemporaryFolder empty;
  const std::string not_kept = run_once(empty, {"FA_CACHE_SIZE=1"})["cache"]["not_kept"];
  CHECK(missing(not_kept, {"more than the cache may hold", "FA_CACHE_SIZE"}) == "");
  const auto said =
      run_program("facet", {"run", source_path("specs/causal.fa"), "--device", "host", "--q-len", "64"},
                  {"FA_CACHE_DIR=" + empty.path(), "FA_CACHE_SIZE=1"});
  CHECK(missing(said.out, {"cache      not kept: "}) == "");
}

TEST_CASE("the cache's key follows the sources of the compiler", "[tools][cache]") {
  const tests::TemporaryFolder folder;
  const std::string out = folder / "hash.cpp";
  const auto hash_of = [&](const std::string& root) {
    const auto ran = run_program("/usr/bin/env", {"cmake", "-DROOT=" + root, "-DOUTPUT=" + out, "-P",
                                                  source_path("cmake/hash_sources.cmake")});
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    return tests::read_file(out);
  };
  CHECK(missing(hash_of(source_path("")), {"return \"" + std::string(sources_hash()) + "\""}) == "");

  const std::string root = folder / "root";
  for (const char* room : {"compiler/emit/host", "runtime/host", "templates"})
    std::filesystem::create_directories(root + "/" + room);
  for (const char* file : {"compiler/emit/host/host.cpp", "runtime/host/jit.cpp", "templates/params.h"}) {
    tests::write_file(root + "/" + file, "a");
    const std::string before = hash_of(root);
    tests::write_file(root + "/" + file, "b");
    CHECK(hash_of(root) != before);
  }
}
