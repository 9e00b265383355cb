// What single instructions and calls compute, for the interpreter in evaluate.cpp alone. On purpose it shares
// no code with the importer.
#pragma once

#include "compiler/ir/llvm.h"

#include <cstdint>

namespace fa {

/// A number, or an address: an object and a byte offset in it. A float is evaluated twice: `real` in double,
/// `single` in f32 as IEEE 754 says. Comparisons use `single`.
struct EvaluatorValue {
  double real = 0;
  float single = 0;
  bool by_score = false;      // a float that depends on the score
  bool is_undefined = false;  // the file leaves open what it is
  std::int64_t bits = 0;      // integers sign-extended; of an address the offset
  int object = -1;
};

inline EvaluatorValue float_value(double value) {
  return {.real = value, .single = static_cast<float>(value)};
}

using EvaluatorArgument = llvm::function_ref<const EvaluatorValue&(unsigned)>;

/// Throws Error.
[[noreturn]] void cannot_evaluate(const llvm::Value& at, const char* why = "cannot be evaluated");

std::int64_t sign_extended(std::int64_t bits, unsigned width);
std::uint64_t zero_extended(std::int64_t bits, unsigned width);
EvaluatorValue to_integer(double x, unsigned width, bool is_signed);
/// Whether the call rounds its float argument to a whole float.
bool is_rounding(const llvm::CallInst& call);
bool integer_compare(const llvm::ICmpInst& compare, const EvaluatorValue& a, const EvaluatorValue& b);
EvaluatorValue integer_binary(const llvm::Instruction& at, std::int64_t a, std::int64_t b, unsigned width);
EvaluatorValue float_call(const llvm::CallInst& call, EvaluatorArgument arg);
EvaluatorValue integer_call(const llvm::CallInst& call, EvaluatorArgument arg);

}  // namespace fa
