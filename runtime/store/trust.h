// Whether a file or a folder can hold only what this user wrote there.
#pragma once

#include <sys/stat.h>

#include <string>

namespace fa {

/// Whose a file or folder is, as far as that speaks against it: "others may write to it". Empty where it
/// belongs
/// to this user, or to root, and nobody else may write to it.
std::string others_in(const struct stat& status);

}  // namespace fa
