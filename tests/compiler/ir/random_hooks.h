// Random specs for the tests of lowering, analysis and emission: every operation of the language on integers
// and booleans, and floats kept small and smooth so that f32 and f64 agree to a tolerance.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tests/compiler/ir/hook_eval.h"

namespace fa::test {

class RandomHooks {
 public:
  explicit RandomHooks(std::uint32_t seed) : random_(seed) {}

  /// Text of a spec with a score_mod and a mask_mod. `float_compare`: masks may compare floats, which only
  /// implementations of the same arithmetic agree about.
  std::string spec(bool float_compare = false);

  std::string integer(int depth);
  std::string boolean(int depth);
  std::string real(int depth);

  Element element(const ProblemSize& size);
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

 private:
  std::string loop_name() const { return "it" + std::to_string(loops_); }
  std::string small_integer(int depth);  // within a few hundred

  std::mt19937 random_;
  int loops_ = 0;       // open reductions
  int iterations_ = 1;  // their product
  bool score_ = false;  // in scope
  bool float_compare_ = false;
};

}  // namespace fa::test
