#include "tests/emulated_gpu/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "fa/error.h"
#include "runtime/build/key.h"
#include "tests/build_once.h"

namespace fa::test {
namespace {

namespace fs = std::filesystem;

const std::string kEmulation = FA_SOURCE_DIR "/tests/emulated_gpu";

/// Runs g++ with what all parts of a kernel's library are compiled with. Headers of the emulation come before the templates' own,
/// which are in `folder`. Throws BuildError.
void compile(const tools::TemporaryFolder& folder, const std::string& arguments, const char* refused) {
  const std::string log = folder.file("log");
  const std::string command = fmt::format(
      "'{}' -std=c++20 -Og -w -fPIC -fvisibility=hidden -fno-gnu-unique -fno-extern-tls-init "
      "-ffp-contract=off {} -I '{}/templates' -I '{}' -I '{}' -I '{}' 2> '{}'",
      FA_GXX, arguments, kEmulation, kEmulation, folder.file(""), FA_SOURCE_DIR, log);
  if (std::system(command.c_str()) != 0) throw BuildError(refused, tools::read_file(log));
}

/// What all kernels share takes more than half of the time that a kernel's source takes alone: it is compiled once a process.
class Common {
 public:
  Common() {
    folder_->write("device.h", fmt::format("#include \"{}/device.h\"\n", kEmulation));
    compile(*folder_, fmt::format("-x c++-header '{0}' -o '{0}.gch'", header()),
            "g++ refused the emulation's header");
    compile(*folder_, fmt::format("-c '{}/block.cpp' -o '{}'", kEmulation, object()),
            "g++ refused the emulation");
  }
  ~Common() {
    if (getpid() == process_) delete folder_;  // a test's forked child may end by exit(3)
  }
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;

  /// Precompiled, for -include.
  std::string header() const { return folder_->file("device.h"); }
  std::string object() const { return folder_->file("block.o"); }

 private:
  const pid_t process_ = getpid();
  const tools::TemporaryFolder* const folder_ = new tools::TemporaryFolder;
};

/// The bytes of the shared object.
std::string compile_kernel(const Source& source) {
  static const Common common;
  const tools::TemporaryFolder folder;
  for (const SourceHeader& header : source.headers) {
    fs::create_directories(fs::path(folder.file(header.path)).parent_path());
    folder.write(header.path, header.text);
  }
  const std::string text = folder.write("kernel.cpp", source.text), made = folder.file("kernel.so");
  compile(
      folder,
      fmt::format("-include '{}' -shared -o '{}' '{}' '{}'", common.header(), made, text, common.object()),
      "g++ refused an emulated kernel");
  return tools::read_file(made);
}

/// The same, once a source. Threads that ask for one source at one time may each compile it.
std::string compiled_kernel(const Source& source) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::string key = cuda_key(source, {}, "emulated").hex();
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  std::string made = tests::make_once(key, [&] { return compile_kernel(source); });
  const std::lock_guard lock(mutex);
  return known[key] = std::move(made);
}

}  // namespace

Library::Library(const Source& source) {
  const tools::TemporaryFolder folder;
  const std::string path = folder.write("kernel.so", compiled_kernel(source));
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw BuildError("an emulated kernel does not load", dlerror());
}

Library::~Library() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* Library::symbol(const std::string& name) const {
  void* const found = dlsym(handle_, name.c_str());
  if (found == nullptr) throw BuildError("an emulated kernel has no function " + name, {});
  return found;
}

}  // namespace fa::test
