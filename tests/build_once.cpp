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
#include "tests/tools/temporary.h"

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

std::string make_once(const std::string& key, const std::function<std::string()>& make) {
  const char* const folder = std::getenv("FA_TEST_BUILDS");
  if (folder == nullptr) return make();
  const std::string path = std::filesystem::path(folder) / key;
  const Locked locked(path + ".lock");
  if (std::filesystem::exists(path)) return tools::read_file(path);
  std::string made = make();
  std::ofstream out(path + ".part", std::ios::binary);
  out << made;
  out.close();
  if (out)
    std::filesystem::rename(path + ".part", path);  // else the disk is full, and the next call makes it again
  return made;
}

Built build_once(const Source& source) {
  if (std::getenv("FA_TEST_BUILDS") == nullptr) return build_source(source);
  const std::string flags[] = {source.arch};
  const std::string key = cuda_key(source, flags, Nvrtc::get().version_text()).hex();
  const json said = json::parse(make_once(key, [&] { return build_now(source).dump(); }));
  const std::string log = said["log"];
  if (said.contains("refused")) throw BuildError(said["refused"].get<std::string>(), log);
  return {.cubin = said["has_cubin"] ? "built" : "",
          .ptx = {},
          .log = log,
          .figures = read_ptxas_report(log, source.program)};
}

}  // namespace fa::tests
