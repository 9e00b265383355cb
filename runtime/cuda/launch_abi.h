// What a kernel built at one time and a program built at another must agree on to launch it.
#pragma once

#include <string>

namespace fa {

/// The layout of ForwardParams field by field, that of tile maps, and the version of what the fields mean, as
/// text: "params 1, 432 bytes: q@0 k@8 ...". A bundle carries its hash.
std::string launch_abi();

}  // namespace fa
