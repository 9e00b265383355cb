#include "runtime/system/aside.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/system/hash.h"

namespace fa {
namespace {

namespace fs = std::filesystem;

/// Identifies the set that process numbers belong to: a machine since its start, and a container in it. Empty
/// where Linux does not say.
const std::string& process_space() {
  static const std::string space = [] {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    std::error_code error;
    const fs::path numbers = fs::read_symlink("/proc/self/ns/pid", error);
    if (boot.empty() || error) return std::string();
    const std::string numbered_by = numbers.string();
    const std::string_view texts[] = {boot, numbered_by};
    return fmt::format("{:016x}", hash_texts(texts).low);
  }();
  return space;
}

}  // namespace

std::string aside_name(pid_t pid) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("{}{}-{}-{:x}", kAside, process_space(), pid, now);
}

bool is_abandoned(std::string_view name) {
  const std::string start = fmt::format("{}{}-", kAside, process_space());
  if (process_space().empty() || !name.starts_with(start)) return false;
  name.remove_prefix(start.size());
  pid_t pid = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
  const bool is_number = failed == std::errc() && end != name.data() + name.size() && *end == '-';
  return is_number && pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

void remove_abandoned(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (is_abandoned(at->path().filename().string())) unlink(at->path().c_str());
}

}  // namespace fa
