// Counts that are no index of the standard library's yet.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fa {

/// `number`, which is not negative.
inline std::size_t to_size(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace fa
