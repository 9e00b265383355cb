// The names a spec declares, and what each kind of expression may use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/spec/parse/ast.h"
#include "compiler/spec/source.h"
#include "compiler/spec/spec.h"

namespace fa {

/// A checked expression, with what the checker needs to know about it later.
struct Typed {
  ExprPtr expr{};  // null: an error was reported
  int depth = 1;
  int steps = 1;  // of the reductions in it, nested ones multiplied
  bool uses_score = false;
};

struct Symbol {
  enum class Kind : std::uint8_t {
    param,
    tensor,
    let,
    function,
    broken
  };  // broken: reported already, so using it is silent
  Kind kind = Kind::broken;
  int index = 0;                  // into the params or tensors
  Type type = Type::i32;          // of a param, or of a tensor's elements
  int rank = 0;                   // of a tensor
  Typed value{};                  // of a let
  const AstItem* item = nullptr;  // of a function: its parameters and its body
  Span span{};
  bool used = false;
};

/// What an expression is part of. This decides which names it may use.
enum class Room : std::uint8_t { let, score_mod, mask_mod, sink, extent, example, constant };

/// The place of an expression, for the checker: what it is part of, and a tensor's rank where it is an
/// example.
struct Context {
  Room room = Room::let;
  std::string_view what{};  // "scale", "a tensor's extent": for messages about names it may not use
  int rank = 0;
};

struct Scope {
  std::map<std::string, Symbol, std::less<>> symbols;
  std::map<std::string, Span, std::less<>> later;  // declared by an item further down
  int head_dim = 0;
  int head_dim_v = 0;
  int num_loops = 0;
  int num_inlined = 0;  // operations checked in bodies of functions so far

  /// Whether the spec declares the name, above or further down.
  bool declares(std::string_view name) const { return symbols.contains(name) || later.contains(name); }
};

/// What an expression may use outside the hooks, for messages.
std::string_view room_names(Room room);
bool may_use(Room room, Builtin builtin, int rank);
bool may_use(Room room, Symbol::Kind kind);

}  // namespace fa
