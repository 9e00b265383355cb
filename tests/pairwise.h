// Covering arrays of strength two: so many choices that every two values of two factors meet in one of them.
#pragma once

#include <cstddef>
#include <vector>

namespace fa::test {

/// One choice: for each factor the index of a value.
using Choice = std::vector<std::size_t>;

/// `counts`: how many values each factor has. Greedy; the same for the same counts.
std::vector<Choice> pairwise(const std::vector<std::size_t>& counts);

}  // namespace fa::test
