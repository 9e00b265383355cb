// Functions that decide something (compiler/ir/decisions.h), as straight-line IR for a float or a vector of
// them: products, sums, fused multiply-adds and bits, each one rounding, so that the same bits come out on
// every target. They carry a second float for what the first one loses, and round once at the end: exp, exp2,
// log and log2 are the f32 nearest to the exact value; for one argument in some hundred they are its
// neighbour. sin and cos, whose angle is reduced in double, are within a unit in the last place up to 2^31,
// and some number from -1 to 1 beyond. rsqrt and sigmoid are computed by their definitions, step by step. NaN
// in, NaN out; infinities as in libm.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>

namespace llvm {
class CallInst;
class Function;
class IRBuilderBase;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace fa {

enum class ExactFunction : std::uint8_t { exp, exp2, log, log2, sin, cos, rsqrt, sigmoid };

/// The function of a call that must be exact: one of those above, without the `contract` flag.
std::optional<ExactFunction> exact_function_of(const llvm::CallInst& call);
/// Where the call is one of sin or cos, whether it must be exact or not: their code is a third of CUDA's own,
/// which has a path for huge angles, and unlike libm's works on vectors.
std::optional<ExactFunction> sine_of(const llvm::CallInst& call);

/// "exact_log"
const char* name_of(ExactFunction function);

class ExactMath {
 public:
  explicit ExactMath(llvm::IRBuilderBase& builder) : ir_(builder) {}

  llvm::Value* call(ExactFunction function, llvm::Value* x);

 private:
  llvm::Value* exp(llvm::Value* x);
  llvm::Value* exp2(llvm::Value* x);
  llvm::Value* log(llvm::Value* x);
  llvm::Value* log2(llvm::Value* x);
  /// sin(x + turns * pi / 2).
  llvm::Value* sine(llvm::Value* x, int turns);
  llvm::Value* rsqrt(llvm::Value* x);
  llvm::Value* sigmoid(llvm::Value* x);

  /// high + low, with |low| at most half a spacing of `high`.
  struct Pair {
    llvm::Value* high = nullptr;
    llvm::Value* low = nullptr;
  };
  struct Mantissa {
    Pair log;  // of m, where x = m * 2^exponent and sqrt(1/2) <= m < sqrt(2)
    llvm::Value* exponent = nullptr;
  };
  llvm::Value* number(llvm::Value* like, double value);
  llvm::Value* integer(llvm::Value* like, std::int64_t value);
  llvm::Type* int_type(llvm::Value* like);
  llvm::Value* add(llvm::Value* a, llvm::Value* b);
  llvm::Value* subtract(llvm::Value* a, llvm::Value* b);
  llvm::Value* multiply(llvm::Value* a, llvm::Value* b);
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* polynomial(llvm::Value* x, std::initializer_list<double> low_to_high);
  Pair exact_sum(llvm::Value* large, llvm::Value* small);  // |large| >= |small|, or large = 0
  Pair exact_product(llvm::Value* a, llvm::Value* b);
  Mantissa log_of_mantissa(llvm::Value* x);
  llvm::Value* log_limits(llvm::Value* x, llvm::Value* result);
  llvm::Value* exp_of(const Pair& y, llvm::Value* exponent, llvm::Value* x);
  llvm::Value* within(llvm::Value* x, double bound);
  llvm::Value* power_of_two(llvm::Value* exponent);

  llvm::IRBuilderBase& ir_;
};

/// The exact functions that the functions of the module call; with `all_sines` also every sin and cos.
std::set<ExactFunction> exact_functions_in(const llvm::Module& module, bool all_sines);

/// Replaces such calls in the module by calls of functions with a body, for code generators that know no
/// exact function.
void replace_exact_calls(llvm::Module& module);

/// Adds float @NAME(float) with the function as its body.
llvm::Function* define_exact(llvm::Module& module, ExactFunction function);

}  // namespace fa
