// The templates are plain CUDA: nvcc compiles the same sources as NVRTC. Every toolkit has nvcc, and so has
// PyPI's nvidia-cuda-nvcc.
#include <sys/wait.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/numeric/cases.h"
#include "tests/skip.h"
#include "tests/tools/temporary.h"
#include "tools/reference/parallel.h"

using namespace fa;
using namespace fa::tools;
namespace fs = std::filesystem;

namespace {

/// Looks in $PATH, in $CUDA_HOME and where toolkits are installed. Returns an empty path where there is none.
std::string find_nvcc() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::vector<std::string> folders;
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    folders.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  folders.push_back(variable("CUDA_HOME") + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders)
    if (fs::is_regular_file(folder + "/nvcc")) return folder + "/nvcc";
  return {};
}

struct NvccBuild {
  std::string spec;
  DType dtype;
  int head_dim;
  std::string target;
};

/// Each spec for one architecture, in turns, as are the dtypes and head dims.
std::vector<NvccBuild> builds() {
  constexpr std::array kTargets{"t4", "a100", "h100"};
  constexpr std::array kHeadDims{64, 128, 256};
  std::vector<NvccBuild> result;
  for (const std::string& spec : test::all_specs()) {
    const std::size_t i = result.size();
    const DType half = i % 3 == 0 ? DType::f16 : DType::bf16;  // a T4 has no bf16
    result.push_back(
        {spec, i / 3 % 2 == 0 ? half : DType::f32, kHeadDims[i / 3 % 3], kTargets[i % kTargets.size()]});
  }
  return result;
}

/// nvcc's messages; empty where it compiles the source.
std::string compile_by(const std::string& nvcc, const NvccBuild& build) {
  const Spec spec = load_spec(build.spec).with_dtype(build.dtype).with_head_dim(build.head_dim);
  const Compiled compiled = compile_front_end(spec.checked(), find_target(build.target));
  const TemporaryFolder folder;
  for (const SourceHeader& header : compiled.source->headers) {
    fs::create_directories(fs::path(folder.file(header.path)).parent_path());
    folder.write(header.path, header.text);
  }
  const std::string source = folder.write("kernel.cu", compiled.source->text);
  const std::string command = "'" + nvcc + "' -std=c++17 -arch=" + compiled.source->arch + " -cubin -I '" +
                              folder.file("") + "' -o '" + folder.file("cubin") + "' '" + source + "' > '" +
                              folder.file("log") + "' 2>&1";
  const int status = std::system(command.c_str());
  if (status == 0 && fs::file_size(folder.file("cubin")) > 0) return {};
  return build.spec + " for " + compiled.source->arch + ": " + read_file(folder.file("log"));
}

}  // namespace

TEST_CASE("nvcc compiles the generated source of every spec", "[nvcc][slow]") {
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) return tests::skip("no nvcc in PATH, CUDA_HOME or /usr/local/cuda");
  const std::vector<NvccBuild> all = builds();
  std::vector<std::string> problems(all.size());
  parallel_for(static_cast<std::int64_t>(all.size()), 1, [&](std::int64_t i, std::int64_t) {
    const auto at = static_cast<std::size_t>(i);
    problems[at] = compile_by(nvcc, all[at]);
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}
