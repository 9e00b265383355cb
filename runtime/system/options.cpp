#include "runtime/system/options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <limits>

namespace fa {
namespace {

constexpr int kMostDevices = 1023;
constexpr int kMostThreads = 4096;

/// A whole number from `low` to `high`, without anything before or after it.
bool read_number(std::string_view text, std::int64_t low, std::int64_t high, std::int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && low <= out && out <= high;
}

std::string read_int(std::string_view text, int low, int high, int& out) {
  std::int64_t number = 0;
  if (!read_number(text, low, high, number)) return fmt::format("a whole number from {} to {}", low, high);
  out = static_cast<int>(number);
  return {};
}

std::string read_flag(std::string_view text, bool& out) {
  if (text != "0" && text != "1") return "0 or 1";
  out = text == "1";
  return {};
}

std::string read_device(std::string_view text, Environment& e) {
  if (text == "auto") {
    e.device = Device::automatic;
  } else if (text == "cuda") {
    e.device = Device::cuda;
  } else if (text == "host") {
    e.device = Device::host;
  } else {
    return "auto, cuda or host";
  }
  return {};
}

std::string read_tune(std::string_view text, Environment& e) {
  if (text == "never") {
    e.tune = Tune::never;
  } else if (text == "cached") {
    e.tune = Tune::cached;
  } else if (text == "once") {
    e.tune = Tune::once;
  } else {
    return "never, cached or once";
  }
  return {};
}

std::string read_cpu(std::string_view text, Environment& e) {
  if (text == "avx2") {
    e.cpu = CpuLevel::avx2;
  } else if (text == "avx512") {
    e.cpu = CpuLevel::avx512;
  } else if (text == "avx512_bf16") {
    e.cpu = CpuLevel::avx512_bf16;
  } else {
    return "avx2, avx512 or avx512_bf16";
  }
  return {};
}

std::string read_size(std::string_view text, Environment& e) {
  constexpr std::string_view kExpected = "bytes, or a number followed by K, M or G (powers of 1024)";
  int shift = 0;
  if (text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  if (text.ends_with('G')) shift = 30;
  if (shift != 0) text.remove_suffix(1);
  std::int64_t number = 0;
  if (!read_number(text, 0, std::numeric_limits<std::int64_t>::max() >> shift, number))
    return std::string(kExpected);
  e.cache_size = number << shift;
  return {};
}

constexpr EnvironmentVariable kVariables[] = {
    {.name = "FA_DEVICE",
     .value = "auto, cuda or host",
     .initial = "auto",
     .meaning = "where kernels run; auto is the GPU where there is a usable one, else the host",
     .read = read_device},
    {.name = "FA_CUDA_DEVICE",
     .value = "0 to 1023",
     .initial = "0",
     .meaning = "ordinal of the GPU, as CUDA_VISIBLE_DEVICES leaves them",
     .read = [](std::string_view t, Environment& e) { return read_int(t, 0, kMostDevices, e.cuda_device); }},
    {.name = "FA_NUM_THREADS",
     .value = "0 to 4096",
     .initial = "0",
     .meaning = "threads of the host's kernels; 0 is every core the process may use",
     .read = [](std::string_view t, Environment& e) { return read_int(t, 0, kMostThreads, e.num_threads); }},
    {.name = "FA_CPU",
     .value = "avx2, avx512 or avx512_bf16",
     .initial = "all that the CPU has",
     .meaning =
         "the newest vector instructions that the host's kernels may use, to test or compare what other "
         "CPUs run; avx512 has no products of bf16 pairs, avx512_bf16 has no AMX",
     .read = read_cpu},
    {.name = "FA_PLAN",
     .value = "a plan as `facet explain` prints it, or part of one",
     .initial = "chosen by the cost model",
     .meaning = "forces the plan of every kernel",
     .read =
         [](std::string_view t, Environment& e) {
           e.plan = t;
           return std::string();
         }},
    {.name = "FA_BACKWARD_PLAN",
     .value = "a plan as `facet explain --backward` prints it, or part of one",
     .initial = "chosen by the cost model",
     .meaning = "forces the plan of every backward pass on a GPU",
     .read =
         [](std::string_view t, Environment& e) {
           e.backward_plan = t;
           return std::string();
         }},
    {.name = "FA_TARGET",
     .value = "a target's name, as `facet explain --help` lists them, or one with a family of kernels: "
              "`h200:sm80`",
     .initial = "the GPU's own",
     .meaning = "runs the kernels of another GPU, no newer than the one that is there, to test or compare "
                "them; with a family its kernels alone, with plans for that GPU",
     .read =
         [](std::string_view t, Environment& e) {
           e.target = t;
           return std::string();
         }},
    {.name = "FA_DETERMINISTIC",
     .value = "0 or 1",
     .initial = "0",
     .meaning =
         "whether every gradient has the same bits in every run, which costs a GPU's backward pass time "
         "and workspace",
     .read = [](std::string_view t, Environment& e) { return read_flag(t, e.deterministic); }},
    {.name = "FA_TUNE",
     .value = "never, cached or once",
     .initial = "cached",
     .meaning =
         "whether kernels get the plan that `facet tune` found, or one that ships; once times the most "
         "promising plans where none is known",
     .read = read_tune},
    {.name = "FA_TUNE_DIR",
     .value = "a folder",
     .initial = "the disk cache's, with -tuned after its name",
     .meaning = "where tuned plans are remembered",
     .read =
         [](std::string_view t, Environment& e) {
           e.tune_dir = t;
           return std::string();
         }},
    {.name = "FA_SHIPPED_DIR",
     .value = "a folder",
     .initial = "the tables built into the library",
     .meaning = "tables of tuned plans are read from here instead, each time a kernel is compiled; an empty "
                "folder has none",
     .read =
         [](std::string_view t, Environment& e) {
           e.shipped_dir = t;
           return std::string();
         }},
    {.name = "FA_DISK_CACHE",
     .value = "0 or 1",
     .initial = "1",
     .meaning = "whether built kernels are kept on disk",
     .read = [](std::string_view t, Environment& e) { return read_flag(t, e.disk_cache); }},
    {.name = "FA_CACHE_DIR",
     .value = "a folder",
     .initial = "$XDG_CACHE_HOME/facet, else ~/.cache/facet",
     .meaning = "where the disk cache lies",
     .read =
         [](std::string_view t, Environment& e) {
           e.cache_dir = t;
           return std::string();
         }},
    {.name = "FA_CACHE_SIZE",
     .value = "bytes, or a number followed by K, M or G",
     .initial = "1G",
     .meaning = "most the disk cache may hold; the entries unused for longest go first",
     .read = read_size},
    {.name = "FA_CACHE_SHARED",
     .value = "0 or 1",
     .initial = "0",
     .meaning =
         "whether the users who may write to the cache's folder trust each other: else entries of others, "
         "and a folder that others may write to, are not used",
     .read = [](std::string_view t, Environment& e) { return read_flag(t, e.cache_shared); }},
    {.name = "FA_TEMPLATE_DIR",
     .value = "a folder",
     .initial = "the templates built into the library",
     .meaning = "CUDA templates are read from here instead, each time a kernel is built",
     .read =
         [](std::string_view t, Environment& e) {
           e.template_dir = t;
           return std::string();
         }},
    {.name = "FA_LIBCUDA",
     .value = "a library's path or name",
     .initial = "libcuda.so.1",
     .meaning = "the CUDA driver",
     .read =
         [](std::string_view t, Environment& e) {
           e.libcuda = t;
           return std::string();
         }},
    {.name = "FA_NVRTC",
     .value = "libnvrtc's path, or its folder",
     .initial = "looked for in the CUDA toolkit, the system and Python's wheels",
     .meaning = "NVIDIA's run-time compiler",
     .read =
         [](std::string_view t, Environment& e) {
           e.nvrtc = t;
           return std::string();
         }},
    {.name = "FA_NVRTC_FLAGS",
     .value = "flags separated by spaces",
     .initial = "none",
     .meaning = "passed to NVRTC after Facet's own, for example -lineinfo for profilers",
     .read =
         [](std::string_view t, Environment& e) {
           e.nvrtc_flags = t;
           return std::string();
         }},
};

std::string default_cache_dir(const GetEnv& get) {
  // The XDG specification says that a relative path is to be ignored.
  if (const char* xdg = get("XDG_CACHE_HOME"); xdg != nullptr && xdg[0] == '/')
    return std::string(xdg) + "/facet";
  if (const char* home = get("HOME"); home != nullptr && home[0] == '/')
    return std::string(home) + "/.cache/facet";
  return {};
}

/// Throws where a field is out of range, as a cast or a wrong computation can make it.
void check(const Options& options) {
  if (options.device < Device::automatic || options.device > Device::host)
    throw ArgumentError(fmt::format("Options::device is {}: pass Device::automatic, cuda or host",
                                    static_cast<int>(options.device)));
  if (options.cuda_device < 0 || options.cuda_device > kMostDevices)
    throw ArgumentError(fmt::format("Options::cuda_device is {}: a GPU's ordinal is from 0 to {}",
                                    options.cuda_device, kMostDevices));
  if (options.num_threads < 0 || options.num_threads > kMostThreads)
    throw ArgumentError(fmt::format("Options::num_threads is {}: it must be from 0, every core, to {}",
                                    options.num_threads, kMostThreads));
  if (options.tune < Tune::never || options.tune > Tune::once)
    throw ArgumentError(
        fmt::format("Options::tune is {}: pass Tune::never, cached or once", static_cast<int>(options.tune)));
  if (!(options.tune_seconds >= 0))
    throw ArgumentError(
        fmt::format("Options::tune_seconds is {}: it must be 0 or more", options.tune_seconds));
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

Environment parse_environment(const GetEnv& get) {
  Environment environment;
  environment.cache_dir = default_cache_dir(get);
  for (const EnvironmentVariable& variable : kVariables) {
    const char* text = get(std::string(variable.name).c_str());
    if (text == nullptr || text[0] == '\0') continue;
    if (const std::string expected = variable.read(text, environment); !expected.empty())
      throw ArgumentError(
          fmt::format("{}='{}': expected {}; change it or unset it", variable.name, text, expected));
  }
  return environment;
}

const Environment& environment() {
  static const Environment value = parse_environment([](const char* name) { return std::getenv(name); });
  return value;
}

Options resolve(const Options& options, const Environment& environment) {
  Options out = options;
  if (out.device == Device::automatic) out.device = environment.device;
  if (out.cuda_device == 0) out.cuda_device = environment.cuda_device;
  if (out.num_threads == 0) out.num_threads = environment.num_threads;
  if (out.plan.empty()) out.plan = environment.plan;
  if (out.backward_plan.empty()) out.backward_plan = environment.backward_plan;
  if (out.target.empty()) out.target = environment.target;
  if (out.cache_dir.empty()) out.cache_dir = environment.cache_dir;
  out.disk_cache = out.disk_cache && environment.disk_cache;
  if (out.tune == Tune::cached) out.tune = environment.tune;
  out.deterministic = out.deterministic || environment.deterministic;
  check(out);
  return out;
}

}  // namespace fa
