// The words of the language and what they mean (builtin names, functions, types), and the most similar word
// to a misspelt one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/spec/expr.h"
#include "fa/spec.h"

namespace fa {

struct BuiltinInfo {
  std::string_view name;
  Builtin builtin;
  Type type;
};

/// The type that a function's arguments are converted to.
enum class ArgumentKind : std::uint8_t { numeric, floating, integer };

struct FunctionInfo {
  std::string_view name;
  Func func;
  ArgumentKind arguments;
  int min_args;
  int max_args;  // 0: any number
};

/// Functions of one argument that the checker writes out in operations and other functions
/// (check/composite.cpp).
enum class Composite : std::uint8_t { relu, gelu, silu, softplus, sign, tan };

struct CompositeInfo {
  std::string_view name;
  Composite composite;
  ArgumentKind arguments;
};

std::span<const BuiltinInfo> builtins();
std::span<const FunctionInfo> functions();
const BuiltinInfo* find_builtin(std::string_view name);
const BuiltinInfo& builtin_info(Builtin builtin);
const FunctionInfo* find_function(std::string_view name);
const FunctionInfo& function_info(Func func);
const CompositeInfo* find_composite(std::string_view name);
std::optional<DType> find_dtype(std::string_view name);
std::span<const std::string_view> dtype_names();

std::string_view type_name(Type type);  // "bool", "i32", "f32"
Type value_type(DType dtype);           // what reading an element gives

/// Everything that can be called: functions, those that are written out, `where`, casts, reductions.
std::vector<std::string_view> callable_names();
/// How to write a function of other languages that this one has no name for: "1 - erf(x)" for `erfc`. Empty
/// where none is known.
std::string_view written_out(std::string_view function);
/// A word with a meaning in the language, which a spec's own name may not take.
bool is_reserved(std::string_view word);
/// A letter or underscore, then letters, digits and underscores; at most kMaxNameLength.
bool is_identifier(std::string_view text);
constexpr std::size_t kMaxNameLength = 64;

/// The candidate that `word` most likely means: one that begins with it (`kv_idx` for `kv`), or one that
/// differs by at most two edits and by less than half of the word. Empty where there is none.
std::string closest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace fa
