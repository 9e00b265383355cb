// NVRTC: finding it, compiling a good source and bad ones, templates from a folder, the disk cache. Needs no
// GPU; where there is no NVRTC, the cases that compile say so and pass.
#include "runtime/build/nvrtc.h"

#include <filesystem>

#include "runtime/build/build.h"
#include "runtime/build/nvrtc_find.h"
#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::tests;

namespace {

Source doubling() {
  return {.text =
              "#include \"lib/twice.cuh\"\n"
              "extern \"C\" __global__ void entry(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }\n",
          .headers = {{.path = "lib/twice.cuh",
                       .text = "#pragma once\n__device__ inline float twice(float x) { return x + x; }\n"}},
          .arch = "sm_80",
          .program = {{.entry = "entry",
                       .grid = Grid::q_tiles,
                       .tile_q = 16,
                       .tile_kv = 8,
                       .threads = 32,
                       .shared_memory = 48}}};
}

const char* nothing(const char*) { return nullptr; }

}  // namespace

TEST_CASE("a source becomes cubin, PTX and figures", "[runtime][nvrtc]") {
  if (skip_without_nvrtc()) return;
  const Built built = build_source(doubling());
  CHECK(built.cubin.substr(1, 3) == "ELF");
  CHECK(built.ptx.find(".target sm_80") != std::string::npos);
  CHECK(built.ptx.find(".entry entry(") != std::string::npos);
  CHECK(built.ptx.back() != '\0');
  CHECK(built.figures.registers > 0);
  CHECK(built.figures.registers < 64);
  CHECK(built.figures.spill_store_bytes == 0);
  CHECK(built.figures.spill_load_bytes == 0);
}

TEST_CASE("spills are counted", "[runtime][nvrtc]") {
  if (skip_without_nvrtc()) return;
  Source source = doubling();
  source.text =
      "extern \"C\" __global__ void __launch_bounds__(1024, 2) entry(float* x) {\n"
      "  float a[128];\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 128; ++i) a[i] = x[i * blockDim.x];\n"
      "  __syncthreads();\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 128; ++i) x[i] = a[(i * 77 + 5) % 128] * a[i];\n"
      "}\n";
  const Built built = build_source(source);
  CHECK(built.figures.registers == 32);
  CHECK(built.figures.spill_store_bytes > 0);
  CHECK(built.figures.spill_load_bytes > 0);
}

TEST_CASE("a source NVRTC refuses is a BuildError that carries the log", "[runtime][nvrtc]") {
  if (skip_without_nvrtc()) return;
  Source source = doubling();
  source.text += "__device__ int broken() { return undefined_name; }\n";
  try {
    build_source(source);
    FAIL("nothing was thrown");
  } catch (const BuildError& error) {
    const std::string what = error.what();
    CHECK(what == "NVRTC " + Nvrtc::get().version_text() +
                      " refused entry for sm_80 (NVRTC_ERROR_COMPILATION): facet.cu(3): error: identifier "
                      "\"undefined_name\" is undefined");
    CHECK(error.log().find("1 error detected in the compilation of \"facet.cu\"") != std::string::npos);
  }
  source = doubling();
  source.headers.clear();
  CHECK(message_of<BuildError>([&] { build_source(source); }).find("lib/twice.cuh") != std::string::npos);
}

TEST_CASE("an arch NVRTC does not know becomes the newest virtual one before it", "[runtime][nvrtc]") {
  if (skip_without_nvrtc()) return;
  const Nvrtc& nvrtc = Nvrtc::get();
  CHECK(nvrtc_arch(nvrtc, "sm_80") == "sm_80");
  CHECK(nvrtc_arch(nvrtc, "compute_80") == "compute_80");
  CHECK(nvrtc.supports("sm_90a"));
  CHECK_FALSE(nvrtc.supports("compute_80"));
  Source source = doubling();
  source.arch = "sm_129";
  CHECK(nvrtc_arch(nvrtc, source.arch).starts_with("compute_"));
  const Built built = build_source(source);
  CHECK(built.cubin.empty());
  CHECK(built.figures.registers == 0);
  CHECK(built.ptx.find(".entry entry(") != std::string::npos);
  const TemporaryFolder folder;
  const BuildResult result = build(source, DiskCache(folder.path(), 1 << 20), "newer");
  CHECK(result.binary.image == built.ptx);
  CHECK(message_of<BuildError>([&] {
          nvrtc_arch(nvrtc, "sm_52");
        }).find("compiles for nothing up to sm_52") != std::string::npos);
}

TEST_CASE("a second build comes from the disk", "[runtime][nvrtc]") {
  if (skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), 1 << 20);
  const BuildResult first = build(doubling(), cache, "twice");
  const BuildResult second = build(doubling(), cache, "twice");
  CHECK_FALSE(first.from_disk);
  CHECK(second.from_disk);
  CHECK(second.binary.image == first.binary.image);
  CHECK(second.binary.registers == first.binary.registers);
  CHECK(second.binary.spill_bytes == first.binary.spill_bytes);
  REQUIRE(second.binary.program.size() == 1);
  const Pass& pass = second.binary.program[0];
  CHECK(pass.entry == "entry");
  CHECK(pass.grid == Grid::q_tiles);
  CHECK(pass.threads == 32);
  CHECK(pass.tile_q == 16);
  CHECK(pass.tile_kv == 8);
  CHECK(pass.shared_memory == 48);
  REQUIRE(cache.list().size() == 1);
  CHECK(cache.list()[0].label == "twice");

  const std::string path = folder / (cache.list()[0].key + ".facet");
  const std::string bytes = read_file(path);
  write_file(path, bytes.substr(0, bytes.size() / 2));
  const BuildResult third = build(doubling(), cache, "twice");
  CHECK_FALSE(third.from_disk);
  CHECK(third.binary.image == first.binary.image);
  CHECK(build(doubling(), cache, "twice").from_disk);

  CHECK_FALSE(build(doubling(), DiskCache("", 1 << 20), "twice").from_disk);
}

TEST_CASE("templates come from a folder where one is named", "[runtime][nvrtc]") {
  const TemporaryFolder folder;
  CHECK(message_of<Error>([&] { with_templates(doubling(), folder.path()); }) ==
        "FA_TEMPLATE_DIR='" + folder.path() +
            "': " + folder / "lib/twice.cuh cannot be read; correct it or unset it");
  std::filesystem::create_directory(folder / "lib");
  write_file(folder / "lib/twice.cuh", "other");
  CHECK(with_templates(doubling(), folder.path()).headers[0].text == "other");
  CHECK(with_templates(doubling(), "").headers[0].text == doubling().headers[0].text);
}

TEST_CASE("NVRTC is found in the folders that hold it", "[runtime][nvrtc]") {
  const TemporaryFolder root;
  const std::string wheel = root / "lib/python3.11/site-packages/nvidia/cu13/lib";
  std::filesystem::create_directories(wheel);
  write_file(wheel + "/libnvrtc.so.13", "");
  write_file(wheel + "/libnvrtc.so.12", "");
  write_file(wheel + "/libnvrtc-builtins.so.13.0", "");
  CHECK(find_nvrtc(wheel, nothing).library == wheel + "/libnvrtc.so.13");
  CHECK(find_nvrtc(wheel + "/libnvrtc.so.12", nothing).library == wheel + "/libnvrtc.so.12");
  const NvrtcSearch wrong = find_nvrtc(root / "lib", nothing);
  CHECK(wrong.library.empty());
  CHECK(wrong.problem == "no NVRTC: FA_NVRTC='" +
                             root / "lib' is neither libnvrtc.so nor a folder that holds it; " +
                             "correct it, or unset it to search");

  const auto folders = nvrtc_folders([&](const char* name) -> const char* {
    return std::string_view(name) == "VIRTUAL_ENV" ? root.path().c_str() : nullptr;
  });
  CHECK(std::find(folders.begin(), folders.end(), wheel) != folders.end());
  const auto toolkit = nvrtc_folders([](const char* name) -> const char* {
    return std::string_view(name) == "CUDA_HOME" ? "/opt/toolkit" : nullptr;
  });
  CHECK(toolkit.front() == "/opt/toolkit/lib64");
}

TEST_CASE("an NVRTC that changes on disk is another one", "[runtime][nvrtc]") {
  const TemporaryFolder folder;
  write_file(folder / "libnvrtc.so.13", "one");
  const std::string one = nvrtc_identity(folder / "libnvrtc.so.13");
  CHECK(one == nvrtc_identity(folder / "libnvrtc.so.13"));
  write_file(folder / "libnvrtc.so.13", "three");
  CHECK(one != nvrtc_identity(folder / "libnvrtc.so.13"));
  CHECK(nvrtc_identity("libnvrtc.so.13") == "libnvrtc.so.13");
}

TEST_CASE("a library that is not NVRTC", "[runtime][nvrtc]") {
  CHECK(message_of<BuildError>([] { const Nvrtc none("/no/such/libnvrtc.so"); }) ==
        "NVRTC cannot be loaded: /no/such/libnvrtc.so: cannot open shared object file: No such file or "
        "directory");
  CHECK(message_of<BuildError>([] { const Nvrtc none("libm.so.6"); }).find("it is not NVRTC 11.2 or later") !=
        std::string::npos);
}

TEST_CASE("ptxas' report is read for the entry asked for", "[runtime][nvrtc]") {
  const std::string_view log =
      "ptxas info    : Compiling entry function 'other' for 'sm_80'\n"
      "ptxas         .     8 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
      "ptxas info    : Used 11 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function 'mine' for 'sm_80'\n"
      "ptxas info    : Function properties for mine\n"
      "ptxas         .     16 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 364 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'third' for 'sm_80'\n"
      "ptxas info    : Used 12 registers, used 0 barriers\n";
  const PtxasFigures mine = read_ptxas_report(log, "mine");
  CHECK(mine.registers == 255);
  CHECK(mine.stack_bytes == 16);
  CHECK(mine.spill_store_bytes == 40);
  CHECK(mine.spill_load_bytes == 44);
  CHECK(mine.spill_bytes() == 84);
  CHECK(read_ptxas_report(log, "absent").registers == 0);
}

TEST_CASE("flags", "[runtime][nvrtc]") {
  CHECK(nvrtc_flags("sm_90", "") ==
        std::vector<std::string>{"--gpu-architecture=sm_90", "-std=c++17", "--ptxas-options=-v"});
  CHECK(nvrtc_flags("sm_90", "  -lineinfo   -G ") ==
        std::vector<std::string>{"--gpu-architecture=sm_90", "-std=c++17", "--ptxas-options=-v", "-lineinfo",
                                 "-G"});
}

TEST_CASE("several sources are built at once, and each is kept under its own key",
          "[runtime][nvrtc][bucket]") {
  if (skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), 1 << 20);
  std::vector<Source> sources(3, doubling());
  for (std::size_t i = 1; i < sources.size(); ++i)
    sources[i].text += "extern \"C\" __global__ void more" + std::to_string(i) + "() {}\n";
  const auto all = [&] {
    std::vector<BuildRequest> requests;
    for (const Source& source : sources) requests.push_back({.source = &source, .label = "several"});
    return build_all(requests, cache);
  };
  const std::vector<BuildResult> built = all();
  REQUIRE(built.size() == 3);
  CHECK(cache.list().size() == 3);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    CHECK_FALSE(built[i].from_disk);
    const BuildResult again = build(sources[i], cache, "several");
    CHECK(again.from_disk);
    CHECK(again.binary.image == built[i].binary.image);
  }

  // Where one fails, the others are still built and kept, and the failure is thrown.
  sources[0].text += "extern \"C\" __global__ void another() {}\n";
  sources[1].text += "no CUDA\n";
  CHECK_THROWS_AS(all(), BuildError);
  CHECK(build(sources[0], cache, "several").from_disk);
}
