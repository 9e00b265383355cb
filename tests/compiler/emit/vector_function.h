// A function made of IR instructions, compiled for this machine or for a CPU with fewer features, and its
// error.
#pragma once

#include "compiler/ir/llvm.h"
// after llvm.h
#include <functional>
#include <limits>
#include <memory>
#include <string>

namespace fa::test {

constexpr int kLanes = 16;
constexpr float kInf = std::numeric_limits<float>::infinity();

/// One function on 16 numbers, as a vector (or one by one) for a CPU with `features` (LLVM's names).
class VectorFunction {
 public:
  using Emit = std::function<llvm::Value*(llvm::IRBuilder<>&, llvm::Value*)>;
  VectorFunction(const Emit& emit, bool scalar, const std::string& features);
  ~VectorFunction();
  VectorFunction(VectorFunction&&) noexcept;

  float operator()(float x) const;
  void operator()(const float* in, float* out) const { function_(in, out); }

 private:
  struct State;
  std::unique_ptr<State> state_;
  void (*function_)(const float* in, float* out) = nullptr;
};

/// |x - exact| in units of exact's last place; infinity where only one is NaN.
double ulps(float x, double exact);

}  // namespace fa::test
