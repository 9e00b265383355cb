#include "tests/pairwise.h"

#include <array>
#include <set>

namespace fa::test {
namespace {

using Pair = std::array<std::size_t, 4>;  // factor, value, later factor, value

Pair pair_of(std::size_t a, std::size_t x, std::size_t b, std::size_t y) {
  return a < b ? Pair{a, x, b, y} : Pair{b, y, a, x};
}

}  // namespace

/// Each new choice starts from a pair that has not met yet and takes, factor by factor, the value that adds
/// the most new pairs.
std::vector<Choice> pairwise(const std::vector<std::size_t>& counts) {
  std::set<Pair> missing;
  for (std::size_t a = 0; a < counts.size(); ++a)
    for (std::size_t b = a + 1; b < counts.size(); ++b)
      for (std::size_t x = 0; x < counts[a]; ++x)
        for (std::size_t y = 0; y < counts[b]; ++y) missing.insert({a, x, b, y});
  std::vector<Choice> choices;
  while (!missing.empty()) {
    const Pair seed = *missing.begin();
    Choice choice(counts.size());
    std::vector<bool> fixed(counts.size());
    const auto fix = [&](std::size_t factor, std::size_t value) {
      choice[factor] = value;
      fixed[factor] = true;
    };
    fix(seed[0], seed[1]);
    fix(seed[2], seed[3]);
    for (std::size_t factor = 0; factor < counts.size(); ++factor) {
      if (fixed[factor]) continue;
      std::size_t best = 0;
      std::size_t most = 0;
      for (std::size_t step = 0; step < counts[factor]; ++step) {
        const std::size_t value = (step + choices.size()) % counts[factor];  // ties are shared out
        std::size_t met = step == 0 ? 1 : 0;
        for (std::size_t other = 0; other < counts.size(); ++other)
          if (fixed[other]) met += 2 * missing.count(pair_of(factor, value, other, choice[other]));
        if (met > most) {
          most = met;
          best = value;
        }
      }
      fix(factor, best);
    }
    for (std::size_t a = 0; a < counts.size(); ++a)
      for (std::size_t b = a + 1; b < counts.size(); ++b) missing.erase({a, choice[a], b, choice[b]});
    choices.push_back(choice);
  }
  return choices;
}

}  // namespace fa::test
