// From a Source to a binary a device can load: out of the disk cache, else by NVRTC. Needs no GPU.
#pragma once

#include <string>
#include <string_view>

#include "compiler/compile.h"
#include "runtime/build/nvrtc.h"
#include "runtime/cuda/binary.h"
#include "runtime/store/cache.h"

namespace fa {

/// The arch to compile for: `arch` where this NVRTC makes cubins for it, else the newest virtual one up to it
/// ("compute_90", which is also asked for as such). Throws BuildError where there is none.
std::string nvrtc_arch(const Nvrtc& nvrtc, std::string_view arch);

/// `source` with its headers read from `folder` (FA_TEMPLATE_DIR); as it is where `folder` is empty. Throws
/// Error where a header is not there.
Source with_templates(Source source, const std::string& folder);

/// Compiles by the process' NVRTC with FA_TEMPLATE_DIR and FA_NVRTC_FLAGS, past every cache: cubin, PTX, log,
/// registers and spills. Throws BuildError.
Built build_source(const Source& source);

struct BuildResult {
  Binary binary;
  bool from_disk = false;
  std::string miss, not_kept;  // as CompileTimes has them
};

/// The usual way: out of `cache` where it is there, else build_source's and into `cache`. `label` names it in
/// `facet cache list`.
BuildResult build(const Source& source, const DiskCache& cache, std::string_view label);

}  // namespace fa
