// Which compiler this is: a hash of the sources by which host kernels are made (cmake/hash_sources.cmake).
#pragma once

#include <string_view>

namespace fa {

/// SHA-256, in hexadecimal digits.
std::string_view sources_hash();

}  // namespace fa
