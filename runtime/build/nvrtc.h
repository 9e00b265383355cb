// NVIDIA's run-time compiler, opened at run time. It turns CUDA text into cubins and PTX, and needs no GPU
// and no driver.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "runtime/system/dynlib.h"

namespace fa {

/// What ptxas reports of an entry, or of all entries of a program together.
struct PtxasFigures {
  int registers = 0;  // together: of the entry that takes the most
  int stack_bytes = 0;
  int spill_store_bytes = 0;  // together: of all entries
  int spill_load_bytes = 0;

  int spill_bytes() const { return spill_store_bytes + spill_load_bytes; }
};

/// The figures of `entry` in NVRTC's log; zeros where the log has no report of it.
PtxasFigures read_ptxas_report(std::string_view log, std::string_view entry);
/// The figures of all passes of `program` together.
PtxasFigures read_ptxas_report(std::string_view log, const Program& program);

/// What NVRTC made of a Source.
struct Built {
  std::string cubin;  // empty where `arch` was a virtual one (compute_80)
  std::string ptx;
  std::string log;       // warnings, and ptxas' report
  PtxasFigures figures;  // of all entries together; zeros without a cubin
};

class Nvrtc {
 public:
  /// The process's NVRTC, found and loaded on the first call. Every call throws BuildError where there is
  /// none: it says what is missing, where it was looked for and how to get it.
  static const Nvrtc& get();

  /// Loads the library. Throws BuildError where that is no NVRTC.
  explicit Nvrtc(const std::string& library);

  int version() const { return version_; }  // 1300 for 13.0
  std::string version_text() const;         // "13.0"
  const std::string& library() const { return path_; }
  /// Whether it makes cubins for "sm_90".
  bool supports(std::string_view arch) const;

  /// Compiles for `source.arch`. Throws BuildError with the log where NVRTC refuses.
  Built compile(const Source& source, const std::vector<std::string>& flags) const;

 private:
  struct Functions;

  DynLib
      builtins_;  // NVRTC asks the loader for it by bare name, which finds it only where it is loaded already
  DynLib lib_;
  std::string path_;
  int version_ = 0;
  std::vector<int> archs_;
};

/// Flags every kernel is built with for `arch`, and `extra` ones separated by spaces.
///   --gpu-architecture  the device's own: the cubin needs no compiler in the driver
///   -std=c++17          what the templates are written in
///   --ptxas-options=-v  registers and spills in the log
/// No fast-math flag: where a kernel approximates, its source says so.
std::vector<std::string> nvrtc_flags(std::string_view arch, std::string_view extra);

}  // namespace fa
