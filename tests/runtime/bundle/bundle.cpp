// Bundles: what goes in comes out, a file that is anything else is refused with the reason, and a GPU gets
// the kernel that suits it. Cubins are only bytes here; tests/tools/command/bundle.cpp makes real ones.
#include "fa/bundle.h"

#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "compiler/spec/spec.h"
#include "runtime/bundle/file.h"
#include "runtime/bundle/state.h"
#include "runtime/cuda/launch_abi.h"
#include "tests/catch.h"
#include "tests/runtime/bundle/fixture.h"
#include "tests/runtime/cuda/fake_driver.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using namespace fa::tests;

namespace {

std::string why_not(std::string_view bytes) {
  return message_of<BundleError>([&] { decode_bundle(bytes, "x"); });
}

/// The header's field at `at`, changed.
std::string with_number(std::string bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

/// The sample's bytes with its manifest's text changed and both checksums made anew, as somebody might who
/// edits one: by the code under test, from a bundle whose manifest is replaced through `change`.
std::string with_manifest(const std::string& from, const std::string& to) {
  const std::string bytes = encode_bundle(sample_bundle());
  std::uint64_t manifest_bytes = 0;
  std::memcpy(&manifest_bytes, bytes.data() + 16, sizeof manifest_bytes);
  std::string manifest = bytes.substr(64, manifest_bytes);
  const std::size_t at = manifest.find(from);
  REQUIRE(at != std::string::npos);
  manifest.replace(at, from.size(), to);
  const auto aligned = [](std::size_t n) { return (n + 63) / 64 * 64; };
  std::string images = bytes.substr(aligned(64 + manifest_bytes));
  std::string out = bytes.substr(0, 64) + manifest;
  out.resize(aligned(out.size()));
  out += images;
  out = with_number(with_number(out, 16, manifest.size()), 24, out.size());
  const std::string_view texts[] = {std::string_view(out).substr(0, 32), manifest};
  const Key check = hash_texts(texts);
  return with_number(with_number(out, 32, check.high), 40, check.low);
}

std::shared_ptr<const BundleState> sample_state() { return make_bundle_state("x", sample_bundle()); }

}  // namespace

TEST_CASE("a bundle's bytes give back all of it", "[runtime][bundle]") {
  const BundleContents before = sample_bundle();
  const std::string bytes = encode_bundle(before);
  CHECK(bytes == encode_bundle(before));
  const BundleContents after = decode_bundle(bytes, "x");
  CHECK(after.facet == "0.1.0");
  CHECK(after.nvrtc == 1300);
  REQUIRE(after.specs.size() == 2);
  CHECK(after.specs[0].text() == "attention causal\nhead_dim 64\ndtype bf16\nscale 1 / sqrt(head_dim)\n");
  const CheckedSpec& windowed = after.specs[1].checked();
  CHECK(windowed.mask_mod == nullptr);  // the cubin has it
  CHECK(windowed.head_dim_v == 128);
  CHECK(windowed.scale == 0.25);
  CHECK(windowed.dropout == 0.25);
  CHECK(after.specs[1].params().at(0).name == "window");
  CHECK(after.specs[1].tensors().at(0).extents == std::vector<std::string>{"batch", "kv_len"});
  REQUIRE(after.kernels.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const BundleKernel &a = after.kernels[i], &b = before.kernels[i];
    CHECK(a.spec == b.spec);
    CHECK(a.arch == b.arch);
    CHECK(a.plan == b.plan);
    CHECK(a.binary.image == b.binary.image);
    const Pass& forward = a.binary.program.back();
    CHECK(forward.entry == "facet_forward");
    CHECK(forward.grid == Grid::q_tiles);
    CHECK(forward.threads == 128);
    CHECK(forward.tile_q == 64);
    CHECK(forward.tile_kv == 32);
    CHECK(forward.shared_memory == 50000);
    CHECK(print(a.binary.program) == print(b.binary.program));
    CHECK(a.binary.registers == 168);
    CHECK(a.binary.spill_bytes == 4);
  }
  const Program& program = after.kernels[3].binary.program;
  REQUIRE(program.size() == 2);
  CHECK(program[0].entry == "facet_tile_map");
  CHECK(program[0].grid == Grid::tile_map);
  CHECK(program[0].threads == 512);
  CHECK(program[0].overlaps);
  REQUIRE(program[0].tile_map);
  CHECK(program[0].tile_map->of_batch);
  CHECK_FALSE(program[0].tile_map->of_head);
  CHECK(program[0].tile_map->has_plain);
  CHECK(program[1].overlaps);
  CHECK_FALSE(program[1].tile_map);
  CHECK(encode_bundle(after) == bytes);
}

TEST_CASE("no prefix of a bundle is one, and it says so", "[runtime][bundle]") {
  const std::string bytes = encode_bundle(sample_bundle());
  CHECK(why_not("") == "x: is empty: copy it again, or make it with `facet build`");
  CHECK(why_not(bytes.substr(0, 63)) == "x: is cut short: it has 63 bytes, not even a header; copy it again");
  CHECK(why_not(bytes.substr(0, 64)) ==
        "x: is cut short: it has 64 of " + std::to_string(bytes.size()) + " bytes; copy it again");
  CHECK(why_not(bytes + "!") == "x: goes on after its end: it has " + std::to_string(bytes.size() + 1) +
                                    " bytes instead of " + std::to_string(bytes.size()) + "; copy it again");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    if (why_not(std::string_view(bytes).substr(0, size)).find("(nothing was thrown)") == 0) FAIL(size);
  CHECK(why_not("attention causal\n") == "x: is no bundle of kernels: make one with `facet build`");
}

TEST_CASE("every changed bit of a bundle is noticed", "[runtime][bundle]") {
  std::string bytes = encode_bundle(sample_bundle());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char bit = static_cast<char>(1 << (i % 8));
    bytes[i] ^= bit;
    if (why_not(bytes).find("(nothing was thrown)") == 0) FAIL("byte " << i);
    bytes[i] ^= bit;
  }
  bytes.back() ^= 1;
  CHECK(why_not(bytes).find("x: is damaged: ") == 0);
  bytes.back() ^= 1;
  bytes[100] ^= 1;
  CHECK(why_not(bytes) ==
        "x: is damaged: its manifest does not have its checksum; copy it again, or build it again");
  bytes[100] ^= 1;
  const std::size_t at = bytes.find(image_of(2, 1060));
  bytes[at + 500] ^= 64;
  CHECK(why_not(bytes) ==
        "x: is damaged: the cubin of 'causal' for sm_90a does not have its checksum; copy it again, or build "
        "it again");
}

TEST_CASE("another version's bundle is refused as such", "[runtime][bundle]") {
  const std::string bytes = encode_bundle(sample_bundle());
  CHECK(why_not(with_number(bytes, 8, (std::uint64_t{64} << 32) + 1)) ==
        "x: has format 1, this program reads format 2: build it with the facet of the program's version");
  const std::string abi = launch_abi();
  const std::string_view text = abi;
  const std::string check = hash_texts(std::span(&text, 1)).hex();
  CHECK(why_not(with_manifest(check, std::string(32, '0'))) ==
        "x: was built by facet 0.1.0, whose kernels take other arguments than this program passes: build it "
        "with "
        "the facet of the program's version");
}

TEST_CASE("a manifest that was edited is believed in nothing", "[runtime][bundle]") {
  const auto edited = [](const std::string& from, const std::string& to) {
    return why_not(with_manifest(from, to));
  };
  CHECK(edited("\"threads\": 128", "\"threads\": 4096") ==
        "x: manifest: kernels[0].passes[0].threads is no whole number from 1 to 1024; build it again");
  CHECK(edited("\"threads\": 128", "\"threads\": 1.5")
            .find("kernels[0].passes[0].threads is no whole number") != std::string::npos);
  CHECK(edited("\"threads\": 128", "\"threads\": 18446744073709551615")
            .find("kernels[0].passes[0].threads is no") != std::string::npos);
  CHECK(edited("\"threads\": 128", "\"theads\": 128") ==
        "x: manifest: kernels[0].passes[0].threads is missing; build it again");
  CHECK(edited("\"threads\": 128", "\"threads\": 128, \"twice\": true") ==
        "x: manifest: kernels[0].passes[0] has 10 fields, 9 are known; build it again");
  CHECK(edited("\"plan\": ", "\"twice\": true, \"plan\": ") ==
        "x: manifest: kernels[0] has 9 fields, 8 are known; build it again");
  CHECK(edited("\"spec\": 0", "\"spec\": 2") ==
        "x: manifest: kernels[0].spec is no whole number from 0 to 1; build it again");
  CHECK(edited("\"spec\": 0", "\"spec\": -1").find("kernels[0].spec is no whole number") !=
        std::string::npos);
  CHECK(edited("\"head_dim\": 64", "\"head_dim\": 32") ==
        "x: manifest: specs[0].text is of another spec; build it again");
  CHECK(edited("attention causal", "attentoin causal")
            .find("x: manifest: specs[0].text is no spec to this program (") == 0);
  CHECK(edited("sm_75", "sm_80") ==
        "x: manifest: kernels[1].arch is that of another kernel of the same spec; build it again");
  CHECK(edited("\"offset\": 0", "\"offset\": 64").find("x: manifest: kernels[0].image: does not lie") == 0);
  CHECK(edited("\"bytes\": 1000", "\"bytes\": 100000").find("x: manifest: kernels[0].image: does not lie") ==
        0);
  CHECK(edited("\"of_batch\": true", "\"of_batch\": 1") ==
        "x: manifest: kernels[3].passes[0].tile_map.of_batch is neither true nor false; build it again");
  CHECK(edited("\"round_rows\": 4", "\"round_rows\": 3") ==
        "x: manifest: kernels[3].passes[0].tile_map.round_rows is neither 1 nor 4; build it again");
  CHECK(edited("\"threads\": 128", "\"threads\": 1e999") ==
        "x: manifest: has a number out of range; build it again");
  CHECK(edited("{", "[").find("x: manifest: is no JSON at byte ") == 0);
}

TEST_CASE("passes that Facet does not write are refused", "[runtime][bundle]") {
  const auto edited = [](const std::string& from, const std::string& to) {
    return why_not(with_manifest(from, to));
  };
  CHECK(
      edited("\"q_tiles\"", "\"rows\"") ==
      "x: manifest: kernels[0].passes[0].grid is no rule of this program's, such as q_tiles; build it again");
  for (const std::string& entry :
       {std::string(), std::string("a b"), std::string("../a"), std::string(257, 'a')})
    CHECK(edited("\"facet_forward\"", "\"" + entry + "\"") ==
          "x: manifest: kernels[0].passes[0].entry is no function's name, such as facet_forward; build it "
          "again");
  CHECK(edited("\"tile_q\": 64", "\"tile_q\": 0")
            .find("kernels[0].passes[0].tile_q is no whole number from 1") != std::string::npos);
  CHECK(edited("\"shared_memory\": 50000", "\"shared_memory\": -1")
            .find("kernels[0].passes[0].shared_memory is no whole number from 0") != std::string::npos);
  CHECK(edited("\"q_tiles\"", "\"tile_map\"") ==
        "x: manifest: kernels[0].passes[0].tile_map is not what the pass's grid asks for; build it again");
  CHECK(edited("\"grid\": \"tile_map\"", "\"grid\": \"q_tiles\"") ==
        "x: manifest: kernels[3].passes[0].tile_map is not what the pass's grid asks for; build it again");
  CHECK(edited("\"passes\": [", "\"passes\": [], \"were\": [") ==
        "x: manifest: kernels[0].passes has 0 entries, it must have 1 to 16; build it again");
  CHECK(edited("\"passes\": [", "\"passes\": {}, \"were\": [") ==
        "x: manifest: kernels[0].passes is no list; build it again");
  CHECK(edited("\"passes\": [", "\"passes\": [0], \"were\": [") ==
        "x: manifest: kernels[0].passes[0] is no object; build it again");

  BundleContents contents = sample_bundle();
  Program& program = contents.kernels[3].binary.program;
  program.push_back(program[0]);
  CHECK(why_not(encode_bundle(contents)) ==
        "x: manifest: kernels[3].passes[2].tile_map is the second of this kernel; build it again");
  program.assign(kMostPasses, contents.kernels[0].binary.program[0]);
  CHECK_NOTHROW(decode_bundle(encode_bundle(contents), "x"));
  program.push_back(program[0]);
  CHECK(why_not(encode_bundle(contents)) ==
        "x: manifest: kernels[3].passes has 17 entries, it must have 1 to 16; build it again");
}

TEST_CASE("a cubin runs where the CUDA manual says", "[runtime][bundle]") {
  CHECK(runs_on("sm_80", 80));
  CHECK(runs_on("sm_80", 89));
  CHECK_FALSE(runs_on("sm_86", 80));
  CHECK_FALSE(runs_on("sm_80", 90));
  CHECK_FALSE(runs_on("sm_75", 80));
  CHECK(runs_on("sm_90a", 90));
  CHECK_FALSE(runs_on("sm_100a", 103));
  CHECK(runs_on("sm_100f", 103));
  CHECK_FALSE(runs_on("sm_90abc", 90));
  CHECK_FALSE(runs_on("compute_90", 90));
}

TEST_CASE("a GPU gets the closest kernel, or the reason why there is none", "[runtime][bundle]") {
  const auto bundle = sample_state();
  const auto arch_for = [&](int compute_capability) {
    return pick_kernel(*bundle, "causal", 64, DType::bf16,
                       {.name = "some GPU", .compute_capability = compute_capability})
        .arch;
  };
  CHECK(arch_for(75) == "sm_75");
  CHECK(arch_for(80) == "sm_80");
  CHECK(arch_for(89) == "sm_80");
  CHECK(arch_for(90) == "sm_90a");
  CHECK(message_of<BundleError>([&] { arch_for(120); }) ==
        "x has causal bf16 d64 for sm_75, sm_80, sm_90a, and some GPU needs sm_120: build it again with "
        "--arch sm_120");
  const auto pick = [&](std::string_view name, int head_dim, DType dtype) {
    return message_of<BundleError>(
        [&] { pick_kernel(*bundle, name, head_dim, dtype, {.name = "gpu", .compute_capability = 80}); });
  };
  CHECK(pick("causal", 64, DType::f16) ==
        "x has no kernel causal f16 d64: it has causal bf16 d64, windowed f16 d64; build it again with that "
        "spec");
  CHECK(pick("causal", 128, DType::bf16).find("x has no kernel causal bf16 d128: ") == 0);
  CHECK(pick("casual", 64, DType::bf16).find("x has no kernel casual bf16 d64: ") == 0);
}

TEST_CASE("a kernel of a bundle is loaded once, launched as it was built, and outlives the bundle",
          "[runtime][bundle]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  std::optional<Kernel> kernel;
  {
    const auto bundle = sample_state();
    kernel = load_kernel(*bundle, "causal", 64, DType::bf16, device);
    CHECK(kernel->times().source == CompileTimes::Source::disk);
    const Kernel again = load_kernel(*bundle, "causal", 64, DType::bf16, device);
    CHECK(again.times().source == CompileTimes::Source::memory);
    CHECK(fake().modules_loaded == 1);
  }
  CHECK(fake().modules_unloaded == 0);
  CHECK(kernel->target() == "sm_90a");
  CHECK(kernel->plan() == "plan sm_90a");
  CHECK(kernel->spec().name() == "causal");
  const auto at = [](std::uintptr_t address) {
    return Tensor::bhsd(reinterpret_cast<void*>(address), DType::bf16, 2, 3, 130, 64);
  };
  const Tensor x = at(0x1000);
  kernel->forward({.q = x, .k = x, .v = x, .o = at(0x1000000)});
  CHECK(fake().launches == 1);
  CHECK(fake().launch.grid[0] == 3);
  CHECK(fake().launch.block[0] == 128);
  CHECK(fake().launch.shared_memory == 50000);
  kernel.reset();
  CHECK(fake().modules_unloaded == 1);
}

TEST_CASE("threads share a bundle and the kernels loaded from it", "[runtime][bundle]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Bundle bundle(sample_state());
  const auto state = sample_state();
  const Kernel first = load_kernel(*state, "causal", 64, DType::bf16, device);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const Bundle copy = bundle;
        if (copy.entries().size() != 4) ++wrong;
        const Kernel kernel = load_kernel(*state, "causal", 64, DType::bf16, device);
        if (kernel.times().source != CompileTimes::Source::memory) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(fake().modules_loaded == 1);
}

TEST_CASE("an old driver is refused before it sees a cubin", "[runtime][bundle]") {
  reset_fake();
  fake().driver_version = 12040;
  const CudaDevice device(fake_table(), 0);
  CHECK(message_of<DeviceError>([&] { load_kernel(*sample_state(), "causal", 64, DType::bf16, device); }) ==
        "x was built with NVRTC 13.0, and the driver here is for CUDA 12.4: update the driver, or build the "
        "bundle with "
        "an NVRTC of CUDA 12 (FA_NVRTC)");
  CHECK(fake().modules_loaded == 0);
  reset_fake();
}

TEST_CASE("bundles are written whole, to a file or into a folder", "[runtime][bundle]") {
  const TemporaryFolder folder;
  const std::string path = write_bundle(folder / "a.bundle", sample_bundle());
  CHECK(path == folder / "a.bundle");
  const Bundle bundle = load_bundle(path);
  CHECK(bundle.path() == path);
  REQUIRE(bundle.entries().size() == 4);
  const BundleEntry& last = bundle.entries()[3];
  CHECK(last.name == "windowed");
  CHECK(last.head_dim == 64);
  CHECK(last.head_dim_v == 128);
  CHECK(last.dtype == DType::f16);
  CHECK(last.arch == "sm_80");
  CHECK(last.bytes == 1090);
  struct stat status = {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  const mode_t mask = umask(0);
  umask(mask);
  CHECK((status.st_mode & 0777) == (0666 & ~mask));

  const std::string inside = write_bundle(folder / "new/folder/", sample_bundle());
  CHECK(inside == folder / "new/folder/kernels.facet-bundle");
  CHECK(load_bundle(folder / "new/folder").path() == inside);
  CHECK(write_bundle(folder / "new/folder", sample_bundle()) == inside);
  CHECK(message_of<Error>([&] { write_bundle(folder / "none/a.bundle", sample_bundle()); }) ==
        folder / "none/a.bundle: cannot be written: " + folder / "none: No such file or directory");
  CHECK(message_of<BundleError>([&] { load_bundle(folder / "b"); }) ==
        folder /
            "b: cannot be read: No such file or directory; name a file that `facet build -o` wrote, or its "
            "folder");
  CHECK(message_of<BundleError>([&] { load_bundle("/dev/null"); }).find("/dev/null: cannot be read: ") == 0);
}

TEST_CASE("a bundle that could not be read back replaces nothing", "[runtime][bundle]") {
  const TemporaryFolder folder;
  const std::string path = write_bundle(folder / "a.bundle", sample_bundle());
  BundleContents twice = sample_bundle();
  twice.kernels.push_back(twice.kernels[0]);
  CHECK(message_of<InternalError>([&] { write_bundle(path, twice); })
            .find("this bundle could not be read back, and is not written: " + path +
                  ": manifest: kernels[4].arch ") == 0);
  CHECK(read_file(path) == encode_bundle(sample_bundle()));
}

TEST_CASE("an architecture is a word, since files are named by it", "[runtime][bundle]") {
  for (const std::string arch : {"", "../../sm_80", "sm 80"}) {
    BundleContents contents = sample_bundle();
    contents.kernels[0].arch = arch;
    CHECK(why_not(encode_bundle(contents)) ==
          "x: manifest: kernels[0].arch is no architecture, such as sm_80; build it again");
  }
}

TEST_CASE("the launch ABI names every field and its place", "[runtime][bundle]") {
  const std::string abi = launch_abi();
  CHECK(abi.find("params 7, " + std::to_string(sizeof(ForwardParams)) +
                 " bytes: q@0 k@8 v@16 o@24 lse@32 ") == 0);
  CHECK(abi.find(" entry_shift@" + std::to_string(offsetof(ForwardParams, entry_shift)) +
                 "; tile map: rounds of 32 tiles, at most 4 rows") != std::string::npos);
}
