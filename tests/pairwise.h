// Covering arrays of strength two: a list of choices in which every two values of two factors meet.
#pragma once

#include <cstddef>
#include <vector>

namespace fa::test {

/// One choice: for each factor the index of a value.
using Choice = std::vector<std::size_t>;

/// `counts`: how many values each factor has. A greedy algorithm without randomness.
std::vector<Choice> pairwise(const std::vector<std::size_t>& counts);

}  // namespace fa::test
