// facet build, facet bundle, and the example that runs bundles: real cubins, no GPU.
#include <nlohmann/json.hpp>

#include "runtime/build/device_target.h"
#include "runtime/build/nvrtc_find.h"
#include "runtime/bundle/file.h"
#include "tests/catch.h"
#include "tests/runtime/bundle/fixture.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa;
using namespace fa::tools;
using nlohmann::json;

namespace {

std::string document() { return source_path("specs/document.fa"); }

/// The dynamic linker's list of what a program loads.
std::string loads(const std::string& program) {
  const TemporaryFolder folder;
  const std::string out = folder.file("ldd");
  REQUIRE(std::system(("ldd '" + program + "' > '" + out + "' 2>&1").c_str()) == 0);
  return read_file(out);
}

}  // namespace

TEST_CASE("build makes one bundle of specs, sizes and architectures", "[tools][bundle]") {
  if (tests::skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const std::string path = folder.file("out/");
  const std::vector<std::string> words{"build", causal_path(), document(),   "--arch", "sm_80,sm_90a",
                                       "-o",    path,          "--head-dim", "64"};
  const auto built = facet(words);
  CHECK(built.err == "");
  REQUIRE(built.status == 0);
  CHECK(missing(built.out, {"causal", "document", "sm_80", "sm_90a", " registers, 0 bytes spilled, ",
                            "wrote " + path + "kernels.facet-bundle: 4 kernels for sm_80 and sm_90a, "}) ==
        "");

  auto again = words;
  again.push_back("--json");
  const json report = json::parse(facet(again).out);
  CHECK(report["kernels"].size() == 4);
  for (const json& kernel : report["kernels"]) CHECK(kernel["from_disk"] == true);
  CHECK(report["bytes"] == static_cast<std::int64_t>(read_file(path + "kernels.facet-bundle").size()));

  const auto shown = facet({"bundle", path, "--extract", folder.file("")});
  CHECK(shown.status == 0);
  CHECK(missing(shown.out, {"causal", "sm_90a", "4 kernels, built by facet "}) == "");
  CHECK(read_file(folder.file("document_bf16_d64_sm_80.cubin")).substr(1, 3) == "ELF");
  const json listed = json::parse(facet({"bundle", path, "--json"}).out);
  CHECK(listed["kernels"].size() == 4);
  CHECK(listed["kernels"][0]["arch"] == "sm_80");

  // The example reads and lists it, and says plainly that there is no GPU.
  const auto ran = run_program("run_bundle", {path}, {"FA_LIBCUDA=/no/such/libcuda.so.1"});
  CHECK(ran.status == 2);
  CHECK(ran.out ==
        "causal bf16 d64 sm_80\ndocument bf16 d64 sm_80\ncausal bf16 d64 sm_90a\ndocument bf16 d64 sm_90a\n");
  CHECK(missing(first_line(ran.err),
                {"run_bundle: FA_LIBCUDA='/no/such/libcuda.so.1': ", "cannot open", "or unset it"}) == "");

  // Damage is status 2 with the reason, from the command and from the example.
  const std::string bytes = read_file(path + "kernels.facet-bundle");
  const std::string half = folder.write("half.facet-bundle", bytes.substr(0, bytes.size() / 2));
  const std::string why = half + ": is cut short: it has " + std::to_string(bytes.size() / 2) + " of " +
                          std::to_string(bytes.size()) + " bytes; copy it again";
  CHECK(facet({"bundle", half}).status == 2);
  CHECK(first_line(facet({"bundle", half}).err) == "facet: error: " + why);
  CHECK(first_line(run_program("run_bundle", {half}).err) == "run_bundle: " + why);
}

TEST_CASE("build --backward makes a bundle whose kernels have a backward pass", "[tools][bundle][backward]") {
  if (tests::skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const std::string path = folder.file("out/");
  const std::string spec =
      folder.write("bias.fa",
                   "attention biased\nhead_dim 64\ndtype f16\ntensor bias : f32[num_q_heads, kv_len] grad\n"
                   "score_mod = score + bias[h, kv_idx]\n");
  const auto built = facet({"build", spec, "--arch", "sm_80", "-o", path, "--backward", "--deterministic"});
  CHECK(built.err == "");
  REQUIRE(built.status == 0);
  CHECK(missing(built.out, {"  backward", "1 kernel for sm_80, forward and backward, "}) == "");

  const auto shown = facet({"bundle", path, "--extract", folder.file("")});
  CHECK(missing(shown.out, {"  backward", " deterministic=1", "1 kernel, built by facet "}) == "");
  CHECK(read_file(folder.file("biased_f16_d64_sm_80_backward.cubin")).substr(1, 3) == "ELF");
  const json listed = json::parse(facet({"bundle", path, "--json"}).out);
  CHECK(listed["kernels"][0]["backward"]["cubin_bytes"].get<int>() > 1000);

  // The program that links no compiler sees it, too.
  const auto ran = run_program("run_bundle", {path}, {"FA_LIBCUDA=/no/such/libcuda.so.1"});
  CHECK(ran.out == "biased f16 d64 sm_80, with its backward pass\n");

  const auto alone = facet({"build", spec, "--arch", "sm_80", "-o", path, "--deterministic"});
  CHECK(alone.status == 2);
  CHECK(first_line(alone.err) ==
        "facet: error: --deterministic is about gradients: add --backward, or leave it out");
}

TEST_CASE("build says what it cannot build, and then writes nothing", "[tools][bundle]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"build", causal_path(), "-o", folder.file("out")};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = facet(words);
    CHECK(result.status == 2);
    CHECK(result.out == "");
    CHECK_FALSE(std::filesystem::exists(folder.file("out")));
    return result.err;
  };
  // One of the two architectures has no bf16, so nothing is built for the other either.
  CHECK(missing(refused({"--arch", "sm_80,sm_75", "--dtype", "bf16"}),
                {causal_path() + ": error: dtype bf16 is more than t4 has: its tensor cores multiply f16",
                 "or build f16 for it alone: --arch sm_75:f16"}) == "");
  CHECK(first_line(refused({"--arch", "sm_52"}))
            .find("facet: error: no GPU of architecture 'sm_52' is "
                  "known; the architectures are sm_75, sm_80, ") == 0);
  CHECK(missing(refused({"--arch", "sm_80a"}), {"no GPU of architecture 'sm_80a' is known"}) == "");
  const TemporaryFolder other;
  const std::string same_name = other.write("other.fa", "attention causal\nhead_dim 128\ndtype bf16\n");
  CHECK(first_line(refused({same_name, "--arch", "sm_80"})) ==
        "facet: error: " + same_name +
            ": another 'causal' bf16 d128 is in the bundle already: give it a name of its own");
  CHECK(first_line(refused({"--arch", "sm_80:f16+half"})) ==
        "facet: error: --arch sm_80:f16+half: 'half' is no dtype: write f16, bf16 or f32, as sm_80:f16+bf16");
  CHECK(missing(refused({}), {"--arch is required"}) == "");
}

TEST_CASE("an architecture of a bundle may have dtypes of its own", "[tools][bundle]") {
  if (tests::skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const std::string path = folder.file("mixed");
  const auto built = facet(
      {"build", causal_path(), "--arch", "sm_75:f16,sm_80:f16+bf16,sm_90a", "--head-dim", "64", "-o", path});
  CHECK(built.err == "");
  REQUIRE(built.status == 0);
  const json listed = json::parse(facet({"bundle", path, "--json"}).out);
  std::vector<std::string> kernels;
  for (const json& kernel : listed["kernels"])
    kernels.push_back(kernel["arch"].get<std::string>() + " " + kernel["spec"]["dtype"].get<std::string>());
  CHECK(kernels == std::vector<std::string>{"sm_75 f16", "sm_80 f16", "sm_80 bf16", "sm_90a bf16"});
}

TEST_CASE("what is asked for twice is built once", "[tools][bundle]") {
  if (tests::skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const std::string path = folder.file("twice");
  const auto built = facet({"build", causal_path(), causal_path(), "--arch",
                            "sm_80,sm_80,sm_90a:bf16,sm_90a:f16+f16", "--head-dim", "64,64", "-o", path});
  CHECK(built.err == "");
  REQUIRE(built.status == 0);
  CHECK(missing(built.out, {": 3 kernels for sm_80 and sm_90a, "}) == "");
  const auto shown = facet({"bundle", path});
  CHECK(shown.status == 0);
  CHECK(missing(shown.out, {": 3 kernels, built by"}) == "");
}

TEST_CASE("cubins are extracted into a folder that is made for them", "[tools][bundle]") {
  const TemporaryFolder folder;
  write_bundle(folder.file("x.facet-bundle"), tests::sample_bundle());
  CHECK(facet({"bundle", folder.file("x.facet-bundle"), "--extract", folder.file("new/cubins")}).status == 0);
  CHECK(read_file(folder.file("new/cubins/causal_bf16_d64_sm_90a.cubin")) == tests::image_of(2, 1060));
  folder.write("file", "");
  const auto refused = facet({"bundle", folder.file("x.facet-bundle"), "--extract", folder.file("file")});
  CHECK(refused.status == 1);
  CHECK(without_start(first_line(refused.err),
                      "facet: error: " + folder.file("file") + ": cannot be made: ") == "");
}

TEST_CASE("of a file that is no bundle little is read, however long it is", "[tools][bundle]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("sparse", "");
  std::filesystem::resize_file(path, std::uintmax_t{20} << 30);
#ifdef FA_SANITIZED  // sanitizers need address space beyond any limit
  const std::string limit = "timeout 20";
#else  // holds the command, but not the file
  const std::string limit = "ulimit -v 2000000; timeout 20";
#endif
  const auto sparse = shell(limit + " \"$FACET\" bundle '" + path + "'");
  CHECK(sparse.status == 2);
  CHECK(first_line(sparse.err) ==
        "facet: error: " + path + ": is no bundle of kernels: make one with `facet build`");
  const auto pipe =
      shell("mkfifo '" + folder.file("p") + "'; timeout 20 \"$FACET\" bundle '" + folder.file("p") + "'");
  CHECK(pipe.status == 2);
  CHECK(without_start(first_line(pipe.err),
                      "facet: error: " + folder.file("p") + ": cannot be read: it is no regular file") == "");
}

TEST_CASE("a program that runs bundles holds neither LLVM nor NVRTC", "[tools][bundle]") {
  const std::string program = program_path("run_bundle");
  const std::string libraries = loads(program);
  CHECK(missing(libraries, {"libc.so"}) == "");  // the list was made
  for (const char* absent : {"libLLVM", "nvrtc", "libcuda", "libz", "libedit"})
    CHECK(libraries.find(absent) == std::string::npos);
  const std::string bytes = read_file(program);
  CHECK(missing(bytes, {"facet build"}) == "");
  for (const char* absent : {"nvrtcCompileProgram", "LLVM ERROR", "_ZN4llvm"})
    CHECK(bytes.find(absent) == std::string::npos);
#ifndef FA_SANITIZED  // sanitizers double a program's size
  CHECK(bytes.size() < 8u << 20);
#endif
}

TEST_CASE("the example's result is right on this GPU", "[tools][bundle][gpu]") {
  if (tests::skip_without_gpu()) return;
  const TemporaryFolder folder;
  const std::string path = folder.file("x.facet-bundle");
  const DeviceInfo& info = CudaDevice::get(0).info();
  const auto built =
      facet({"build", causal_path(), "--arch", "sm_" + std::to_string(info.compute_capability), "-o", path});
  CHECK(built.err == "");
  REQUIRE(built.status == 0);
  for (int run = 0; run < 3; ++run) {
    const auto ran = run_program("run_bundle", {path});
    CHECK(ran.err == "");
    CHECK(ran.status == 0);
    CHECK(missing(ran.out, {"causal: ok, "}) == "");
    WARN(ran.out);
  }
}
