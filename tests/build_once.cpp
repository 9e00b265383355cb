#include "tests/build_once.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fa/error.h"
#include "runtime/build/build.h"
#include "runtime/build/key.h"

namespace fa::tests {
namespace {

using nlohmann::json;

/// One process, and one thread of it, at a time.
class Locked {
 public:
  explicit Locked(const std::filesystem::path& path) : file_(open(path.c_str(), O_RDWR | O_CREAT, 0666)) {
    if (file_ < 0 || flock(file_, LOCK_EX) != 0) throw InternalError("cannot lock " + path.string());
  }
  ~Locked() { close(file_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  int file_;
};

json build_now(const Source& source) {
  try {
    const Built built = build_source(source);
    return {{"has_cubin", !built.cubin.empty()}, {"log", built.log}};
  } catch (const BuildError& error) {
    return {{"refused", error.what()}, {"log", error.log()}};
  }
}

}  // namespace

Built build_once(const Source& source) {
  const char* const folder = std::getenv("FA_TEST_BUILDS");
  if (folder == nullptr) return build_source(source);
  const Nvrtc& nvrtc = Nvrtc::get();
  const std::string flags[] = {source.arch};
  const std::filesystem::path path =
      std::filesystem::path(folder) / cuda_key(source, flags, nvrtc.version_text()).hex();
  json said;
  {
    const Locked locked(path.string() + ".lock");
    if (std::ifstream known(path); known) {
      said = json::parse(known);
    } else {
      said = build_now(source);
      std::ofstream(path.string() + ".part") << said;
      std::filesystem::rename(path.string() + ".part", path);
    }
  }
  const std::string log = said["log"];
  if (said.contains("refused")) throw BuildError(said["refused"].get<std::string>(), log);
  return {.cubin = said["has_cubin"] ? "built" : "",
          .ptx = {},
          .log = log,
          .figures = read_ptxas_report(log, source.program)};
}

}  // namespace fa::tests
