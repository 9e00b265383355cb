// Every FA_* variable the library reads: one table, parsed once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "fa/error.h"
#include "fa/options.h"

namespace fa {

/// The newest instructions that host kernels may use. `all`: whatever the CPU has.
enum class CpuLevel : std::uint8_t { avx2, avx512, avx512_bf16, all };

/// The environment's settings, with the built-in defaults where a variable is unset or empty.
struct Environment {
  Device device = Device::automatic;
  int cuda_device = 0;
  int num_threads = 0;
  CpuLevel cpu = CpuLevel::all;
  std::string plan;
  std::string backward_plan;
  std::string target;
  bool disk_cache = true;
  std::string
      cache_dir;  // resolved: FA_CACHE_DIR, $XDG_CACHE_HOME/facet, ~/.cache/facet; empty: no place for one
  bool deterministic = false;
  Tune tune = Tune::cached;
  std::string tune_dir;     // empty: beside the cache
  std::string shipped_dir;  // empty: the tables in the library
  bool cache_shared = false;
  std::int64_t cache_size = std::int64_t{1} << 30;  // bytes
  std::string template_dir;
  std::string libcuda = "libcuda.so.1";
  std::string nvrtc;
  std::string nvrtc_flags;
};

/// One row of docs/environment.md.
struct EnvironmentVariable {
  std::string_view name;
  std::string_view value;    // what it takes: "auto, cuda or host"
  std::string_view initial;  // the default, in words
  std::string_view meaning;
  /// Reads the value. Returns what was expected where the value is wrong, else an empty string.
  std::string (*read)(std::string_view text, Environment& environment);
};

/// The table, in the order of the documentation.
std::span<const EnvironmentVariable> environment_variables();

using GetEnv = std::function<const char*(const char*)>;

/// Reads every variable through `get`. Throws ArgumentError naming the variable, its value and what was
/// expected.
Environment parse_environment(const GetEnv& get);

/// The process's settings, read on the first call; later changes of the environment have no effect. Throws as
/// parse_environment does, on every call.
const Environment& environment();

/// `options` with every field left at its default taken from `environment`.
Options resolve(const Options& options, const Environment& environment);

}  // namespace fa
