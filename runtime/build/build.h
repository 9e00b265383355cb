// Turns a Source into a binary that a device can load: from the disk cache, else by NVRTC. Needs no GPU.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "runtime/build/nvrtc.h"
#include "runtime/cuda/binary.h"
#include "runtime/store/cache.h"

namespace fa {

/// The architecture to compile for: `arch` where this NVRTC makes cubins for it, else the newest virtual one
/// that is no newer ("compute_90", which may also be asked for). Throws BuildError where there is none.
std::string nvrtc_arch(const Nvrtc& nvrtc, std::string_view arch);

/// Returns `source` with its headers read from `folder` (FA_TEMPLATE_DIR), or unchanged where `folder` is
/// empty. Throws Error where a header is missing.
Source with_templates(Source source, const std::string& folder);

/// Compiles by the process's NVRTC with FA_TEMPLATE_DIR and FA_NVRTC_FLAGS, without any cache. Returns cubin,
/// PTX, log, registers and spills. Throws BuildError.
Built build_source(const Source& source);

struct BuildResult {
  Binary binary;
  bool from_disk = false;
  std::string miss, not_kept;  // as CompileTimes has them
};

/// The usual way: takes the binary from `cache`; where it is not there, builds it by build_source and puts it
/// there. `label` names it in `facet cache list`.
BuildResult build(const Source& source, const DiskCache& cache, std::string_view label);

struct BuildRequest {
  const Source* source = nullptr;
  std::string label;
};
/// The same for several sources: all at once, in threads, the first in this one. Waits for all of them, then throws
/// what the first that failed threw.
std::vector<BuildResult> build_all(std::span<const BuildRequest> requests, const DiskCache& cache);

}  // namespace fa
