// LLVM instructions as CUDA C++ text: straight-line code and counted loops (compiler/analysis/region.h), over
// the vocabulary of compiler/ir/functions.h plus 64-bit integers. The text needs templates/common/math.cuh
// and stands in namespace fa. Values used once nest into the expression that uses them; reads of memory,
// values used twice and long expressions get a name, taken from the IR where it has one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/analysis/region.h"

namespace llvm {
class Function;
class Instruction;
class Value;
}  // namespace llvm

namespace fa {

/// C++ type of a value: "float", "int", "bool", "long long", "const float*", ...
std::string cpp_type(const llvm::Value& value);

/// A legal, unreserved C++ identifier made from `wanted` and not in `taken`; adds it to `taken`.
std::string unique_name(std::string_view wanted, std::unordered_set<std::string>& taken);

/// What to call a value: its name in the IR without LLVM's counter, else a word for what it is.
std::string suggested_name(const llvm::Value& value);

/// Writes the statements that compute a list of items.
class ExprPrinter {
 public:
  struct Options {
    // Approximate functions for instructions that carry `contract` (score arithmetic; masks never do): for
    // 16-bit data.
    bool fast_math = false;
    bool fast_division = false;  // division too, where it runs once an element
    bool eager_bools = false;    // & and | instead of && and ||: more values at once, but no branches
    bool rolled_loops = false;   // loops stay loops: there to be compiled fast, not to run fast
    int indent = 4;
  };
  /// Text of a value that is defined outside the items (an argument, a field); empty: it is not.
  using Outside = std::function<std::string(const llvm::Value&)>;
  /// The value that stands for all equal ones.
  using Canonical = std::function<const llvm::Value*(const llvm::Value&)>;

  ExprPrinter(Options options, Outside outside, Canonical canonical, std::unordered_set<std::string> taken);

  /// The items in an order where operands come first; `roots` are the values asked for afterwards.
  void write(const std::vector<const Region::Item*>& items, const std::vector<const llvm::Value*>& roots);

  /// Text that stands for a value after `write`; parenthesised where it is not a single term and `as_term` is
  /// set.
  std::string value(const llvm::Value& value, bool as_term = false);

  const std::string& statements() const { return statements_; }

 private:
  // `level` is the precedence of C++: 0 a single term, 1 unary, 2 * / %, 3 + -, 4 shifts, ... 12 ?:
  struct Text {
    std::string text;
    int level = 0;
  };
  void count_uses(const Region::Item& item, bool in_loop);
  void count_use(const llvm::Value& value, bool by_loop);
  void write_item(const Region::Item& item);
  void write_instruction(const llvm::Instruction& instruction);
  void write_loop(const Loop& loop);
  void line(const std::string& text);
  Text operand(const llvm::Value& value);
  std::string at_level(const llvm::Value& value, int level);
  std::string arguments(const llvm::Instruction& instruction, unsigned count);
  Text print(const llvm::Instruction& instruction);
  Text print_binary(const llvm::Instruction& instruction);
  Text print_compare(const llvm::Instruction& instruction);
  Text print_cast(const llvm::Instruction& instruction);
  Text print_call(const llvm::Instruction& instruction);
  bool is_fast(const llvm::Instruction& instruction) const;

  Options options_;
  Outside outside_;
  Canonical canonical_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<const llvm::Value*, Text> texts_;
  std::unordered_map<const llvm::Value*, int> uses_;
  std::unordered_set<const llvm::Value*> declared_;  // assigned in a loop, used after it
  std::unordered_set<const llvm::Value*> is_root_;   // however long, needs no name
  std::string statements_;
};

/// A whole function: `__device__ __forceinline__ int name(int b, ...) { ... }`, its arguments named as in the
/// IR.
std::string print_function(const llvm::Function& function, std::string_view name,
                           ExprPrinter::Options options);

}  // namespace fa
