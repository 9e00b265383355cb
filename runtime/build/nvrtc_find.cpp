#include "runtime/build/nvrtc_find.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dlfcn.h>
#include <sys/stat.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "runtime/system/dynlib.h"

namespace fa {
namespace {

namespace fs = std::filesystem;

/// The libraries' names, newest first. Every NVRTC 11 is called 11.2.
constexpr const char* kNames[] = {"libnvrtc.so.14", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                  "libnvrtc.so"};

/// The library that the folder holds, or empty.
std::string in_folder(const fs::path& folder) {
  for (const char* name : kNames) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return (folder / name).string();
  }
  return {};
}

void split_path(const char* text, std::vector<std::string>& out) {
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) out.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
}

void add_toolkit(const fs::path& root, std::vector<std::string>& out) {
  for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
    out.push_back((root / folder).string());
}

/// The folders of NVIDIA's wheels in every Python under `prefix` (a venv, /usr, /usr/local, ~/.local).
void add_wheels(const fs::path& prefix, std::vector<std::string>& out) {
  std::error_code error;
  for (const char* lib : {"lib", "lib64"}) {
    for (const fs::directory_entry& python : fs::directory_iterator(prefix / lib, error)) {
      if (!python.path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const char* wheel : {"cu13", "cuda_nvrtc"}) {
          const fs::path folder = python.path() / packages / "nvidia" / wheel / "lib";
          if (fs::is_directory(folder, error)) out.push_back(folder.string());
        }
    }
  }
}

/// The folders above this program that may hold what the build fetched.
void add_beside_program(std::vector<std::string>& out) {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  add_wheels(folder.parent_path(), out);  // where the program is a Python
  for (int up = 0; up < 4 && folder.has_relative_path(); ++up, folder = folder.parent_path()) {
    const fs::path wheel = folder / ".deps/cuda/nvidia/cu13/lib";  // where scripts/setup.sh puts it
    if (fs::is_directory(wheel, error)) out.push_back(wheel.string());
  }
}

/// Wheels beside the Python package that this code may be part of: site-packages/nvidia beside site-packages/facet.
void add_beside_package(std::vector<std::string>& out) {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<const void*>(&add_beside_package), &self) == 0 || self.dli_fname == nullptr)
    return;
  std::error_code error;
  const fs::path packages = fs::absolute(self.dli_fname, error).parent_path().parent_path();
  for (const char* wheel : {"cu13", "cuda_nvrtc"}) {
    const fs::path folder = packages / "nvidia" / wheel / "lib";
    if (fs::is_directory(folder, error)) out.push_back(folder.string());
  }
}

/// The Python that a shell would start.
void add_python_on_path(const GetEnv& get, std::vector<std::string>& out) {
  std::vector<std::string> folders;
  split_path(get("PATH"), folders);
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!fs::exists(fs::path(folder) / "python3", error)) continue;
    add_wheels(fs::path(folder).parent_path(), out);
    return;
  }
}

}  // namespace

std::vector<std::string> nvrtc_folders(const GetEnv& get) {
  std::vector<std::string> out;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = get(variable); root != nullptr && root[0] != '\0') add_toolkit(root, out);
  add_toolkit("/usr/local/cuda", out);
  split_path(get("LD_LIBRARY_PATH"), out);
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                             "/usr/lib", "/opt/cuda/lib64"})
    out.emplace_back(folder);
  add_beside_package(out);
  add_beside_program(out);
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const char* root = get(variable); root != nullptr && root[0] != '\0') {
      add_wheels(root, out);
      out.push_back(std::string(root) + "/lib");
    }
  }
  add_python_on_path(get, out);
  if (const char* home = get("HOME"); home != nullptr && home[0] != '\0')
    add_wheels(std::string(home) + "/.local", out);
  add_wheels("/usr/local", out);
  add_wheels("/usr", out);
#ifdef FA_DEFAULT_NVRTC_DIR
  split_path(FA_DEFAULT_NVRTC_DIR, out);
#endif
  std::vector<std::string> unique;
  for (std::string& folder : out)
    if (std::find(unique.begin(), unique.end(), folder) == unique.end()) unique.push_back(std::move(folder));
  return unique;
}

NvrtcSearch find_nvrtc(const std::string& forced, const GetEnv& get) {
  if (!forced.empty()) {
    std::error_code error;
    if (fs::is_regular_file(forced, error)) return {.library = forced, .problem = {}};
    if (std::string found = in_folder(forced); !found.empty())
      return {.library = std::move(found), .problem = {}};
    return {
        .library = {},
        .problem = fmt::format("no NVRTC: FA_NVRTC='{}' is neither libnvrtc.so nor a folder that holds it; "
                               "correct it, or unset it to search",
                               forced)};
  }
  const std::vector<std::string> folders = nvrtc_folders(get);
  for (const std::string& folder : folders)
    if (std::string found = in_folder(folder); !found.empty())
      return {.library = std::move(found), .problem = {}};
  for (const char* name : kNames) {
    std::string error;
    if (DynLib::open(name, error)) return {.library = name, .problem = {}};
  }
  return {.library = {},
          .problem =
              fmt::format("no NVRTC: looked for libnvrtc.so.14 to .11.2 by the system's loader and in {}; "
                          "install the CUDA toolkit or `pip install nvidia-cuda-nvrtc`, or set FA_NVRTC to "
                          "its path",
                          fmt::join(folders, ", "))};
}

const NvrtcSearch& nvrtc_search() {
  static const NvrtcSearch search =
      find_nvrtc(environment().nvrtc, [](const char* name) { return std::getenv(name); });
  return search;
}

const std::string& nvrtc_library() {
  const NvrtcSearch& search = nvrtc_search();
  if (!search.library.empty()) return search.library;
  if (!environment().nvrtc.empty()) throw ArgumentError(search.problem);  // what it names is not there
  throw BuildError(search.problem, {});
}

std::string nvrtc_identity(const std::string& library) {
  std::error_code error;
  const fs::path real = fs::canonical(library, error);
  struct stat status = {};
  if (error || stat(real.c_str(), &status) != 0) return library;
  return fmt::format("{} {} {}.{:09}", real.filename().string(), status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

}  // namespace fa
