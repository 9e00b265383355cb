#include "runtime/build/nvrtc.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "runtime/build/nvrtc_find.h"
#include "runtime/system/options.h"

namespace fa {
namespace {

// The few declarations of NVIDIA's nvrtc.h that are needed, so that building Facet needs no NVRTC.
using NvrtcProgram = struct OpaqueProgram*;
using Result = int;

template <class Function>
Function resolve(const DynLib& lib, const char* name) {
  void* const address = lib.symbol(name);
  if (address == nullptr)
    throw BuildError(fmt::format("{} has no {}: it is not NVRTC 11.2 or later", lib.path(), name), {});
  return reinterpret_cast<Function>(address);
}

/// The first line of a log that reports an error, for the message. The exception carries the whole log.
std::string first_error(std::string_view log) {
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = log.substr(at, end - at);
    if (line.find("error") != line.npos || line.find("fatal") != line.npos) return std::string(line);
    at = end + 1;
  }
  return "see the log";
}

/// The number that ends right before `unit` in `line`, or 0.
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == line.npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

std::string list_entries(const Program& program) {
  std::string list;
  for (const Pass& pass : program) list += (list.empty() ? "" : ", ") + pass.entry;
  return list;
}

}  // namespace

struct Nvrtc::Functions {
  explicit Functions(const DynLib& lib)
      : error_string(resolve<decltype(error_string)>(lib, "nvrtcGetErrorString")),
        create(resolve<decltype(create)>(lib, "nvrtcCreateProgram")),
        destroy(resolve<decltype(destroy)>(lib, "nvrtcDestroyProgram")),
        compile(resolve<decltype(compile)>(lib, "nvrtcCompileProgram")),
        log_size(resolve<decltype(log_size)>(lib, "nvrtcGetProgramLogSize")),
        log(resolve<decltype(log)>(lib, "nvrtcGetProgramLog")),
        ptx_size(resolve<decltype(ptx_size)>(lib, "nvrtcGetPTXSize")),
        ptx(resolve<decltype(ptx)>(lib, "nvrtcGetPTX")),
        cubin_size(resolve<decltype(cubin_size)>(lib, "nvrtcGetCUBINSize")),
        cubin(resolve<decltype(cubin)>(lib, "nvrtcGetCUBIN")) {}

  using Size = Result (*)(NvrtcProgram, std::size_t*);
  using Text = Result (*)(NvrtcProgram, char*);

  const char* (*error_string)(Result);
  Result (*create)(NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*);
  Result (*destroy)(NvrtcProgram*);
  Result (*compile)(NvrtcProgram, int, const char* const*);
  Size log_size;
  Text log;
  Size ptx_size;
  Text ptx;
  Size cubin_size;
  Text cubin;

  std::string read(NvrtcProgram program, Size size, Text text) const {
    std::size_t bytes = 0;
    if (size(program, &bytes) != 0 || bytes == 0) return {};
    std::string out(bytes, '\0');
    if (text(program, out.data()) != 0) return {};
    return out;
  }
  /// The same without the closing NUL.
  std::string read_text(NvrtcProgram program, Size size, Text text) const {
    std::string out = read(program, size, text);
    while (!out.empty() && out.back() == '\0') out.pop_back();
    return out;
  }
};

const Nvrtc& Nvrtc::get() {
  // Never unloaded, since it has threads and allocations of its own.
  static const Nvrtc& nvrtc = *[] { return new Nvrtc(nvrtc_library()); }();
  return nvrtc;
}

Nvrtc::Nvrtc(const std::string& library) {
  std::string error;
  lib_ = DynLib::open(library, error);
  if (!lib_) throw BuildError(fmt::format("NVRTC cannot be loaded: {}", error), {});
  path_ = lib_.path();
  int major = 0;
  int minor = 0;
  if (resolve<Result (*)(int*, int*)>(lib_, "nvrtcVersion")(&major, &minor) != 0)
    throw BuildError(fmt::format("{} does not tell its version", path_), {});
  version_ = major * 100 + minor;
  const std::string folder = path_.substr(0, path_.rfind('/') + 1);
  builtins_ = DynLib::open(fmt::format("{}libnvrtc-builtins.so.{}.{}", folder, major, minor), error);
  int count = 0;
  if (resolve<Result (*)(int*)>(lib_, "nvrtcGetNumSupportedArchs")(&count) == 0 && count > 0) {
    archs_.resize(static_cast<std::size_t>(count));
    resolve<Result (*)(int*)>(lib_, "nvrtcGetSupportedArchs")(archs_.data());
  }
}

std::string Nvrtc::version_text() const { return fmt::format("{}.{}", version_ / 100, version_ % 100); }

bool Nvrtc::supports(std::string_view arch) const {
  if (!arch.starts_with("sm_")) return false;
  arch.remove_prefix(3);
  int number = 0;
  std::from_chars(arch.data(), arch.data() + arch.size(), number);  // the letter of "sm_90a" is no digit
  return std::find(archs_.begin(), archs_.end(), number) != archs_.end();
}

Built Nvrtc::compile(const Source& source, const std::vector<std::string>& flags) const {
  const Functions functions(lib_);
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const SourceHeader& header : source.headers) {
    names.push_back(header.path.c_str());
    texts.push_back(header.text.c_str());
  }
  std::vector<const char*> options;
  for (const std::string& flag : flags) options.push_back(flag.c_str());

  NvrtcProgram program = nullptr;
  const Result created = functions.create(&program, source.text.c_str(), "facet.cu",
                                          static_cast<int>(names.size()), texts.data(), names.data());
  if (created != 0) {
    throw BuildError(
        fmt::format("NVRTC {} refused to begin: {}", version_text(), functions.error_string(created)), {});
  }
  const auto destroy = [&functions](NvrtcProgram p) { functions.destroy(&p); };
  const std::unique_ptr<std::remove_pointer_t<NvrtcProgram>, decltype(destroy)> owner(program, destroy);
  const Result result = functions.compile(program, static_cast<int>(options.size()), options.data());

  Built built;
  built.log = functions.read_text(program, functions.log_size, functions.log);
  constexpr Result kInvalidOption = 5;
  if (const std::string& given = environment().nvrtc_flags; result == kInvalidOption && !given.empty())
    throw ArgumentError(
        fmt::format("FA_NVRTC_FLAGS='{}': NVRTC {} does not take them: {}; correct or unset it", given,
                    version_text(), first_error(built.log)));
  if (result != 0) {
    throw BuildError(
        fmt::format("NVRTC {} refused {} for {} ({}): {}", version_text(), list_entries(source.program),
                    source.arch, functions.error_string(result), first_error(built.log)),
        built.log);
  }
  built.ptx = functions.read_text(program, functions.ptx_size, functions.ptx);
  built.cubin = functions.read(program, functions.cubin_size, functions.cubin);
  built.figures = read_ptxas_report(built.log, source.program);
  return built;
}

std::vector<std::string> nvrtc_flags(std::string_view arch, std::string_view extra) {
  std::vector<std::string> flags = {fmt::format("--gpu-architecture={}", arch), "-std=c++17",
                                    "--ptxas-options=-v"};
  while (!extra.empty()) {
    const std::size_t space = std::min(extra.find(' '), extra.size());
    if (space > 0) flags.emplace_back(extra.substr(0, space));
    extra.remove_prefix(std::min(space + 1, extra.size()));
  }
  return flags;
}

PtxasFigures read_ptxas_report(std::string_view log, std::string_view entry) {
  const std::string opening = fmt::format("Compiling entry function '{}'", entry);
  std::size_t at = log.find(opening);
  if (at == log.npos) return {};
  at += opening.size();
  const std::string_view report = log.substr(at, log.find("Compiling entry function", at) - at);
  return {.registers = number_before(report, " registers"),
          .stack_bytes = number_before(report, " bytes stack frame"),
          .spill_store_bytes = number_before(report, " bytes spill stores"),
          .spill_load_bytes = number_before(report, " bytes spill loads")};
}

PtxasFigures read_ptxas_report(std::string_view log, const Program& program) {
  PtxasFigures all;
  for (const Pass& pass : program) {
    const PtxasFigures one = read_ptxas_report(log, pass.entry);
    all.registers = std::max(all.registers, one.registers);
    all.stack_bytes = std::max(all.stack_bytes, one.stack_bytes);
    all.spill_store_bytes += one.spill_store_bytes;
    all.spill_load_bytes += one.spill_load_bytes;
  }
  return all;
}

}  // namespace fa
