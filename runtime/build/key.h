// The key of a built kernel: a hash of 128 bits over everything that decides its bytes, and nothing else.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/emit/cuda/source.h"
#include "runtime/system/hash.h"

namespace fa {

/// Text, headers, passes, flags (with the arch) and the NVRTC that would build it.
Key cuda_key(const Source& source, std::span<const std::string> flags, std::string_view nvrtc);
/// `text`: runtime/host/jit's host_key.
Key host_cache_key(std::string_view text);

}  // namespace fa
