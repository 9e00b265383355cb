// The sizes of a problem, from the files that its tensors are read from.
#pragma once

#include <optional>
#include <string>

namespace fa::tools {

/// Takes from the shape of the .npy file at `path`, which is to be `name` [batch, heads, length, dim], the sizes that no
/// option has set. Throws ArgumentError, which names the file, where it has other dimensions or cannot be read twice.
void sizes_of_file(const std::string& path, const std::string& name, std::optional<int>& heads,
                   std::optional<int>& length, std::optional<int>& batch);

}  // namespace fa::tools
