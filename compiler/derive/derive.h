// The stage `derive`: what the backward pass needs to know about the hooks. Of score_mod its derivative by
// the score and, where the spec marks params or captured tensors `grad`, by each of those; of the sink the
// same. Reverse mode over the typed expressions, which hooks from files are by now, too (docs/backward.md);
// the results are lowered like any hook, so that indices are proved, decisions stay exact and loops are
// counted by the code that does it for the forward pass.
//
//   float @d_score(...)             d score_mod / d score
//   float @d_p.NAME(...)            d score_mod / d a param
//   float @d_t.NAME.N(...)          d score_mod / d the element that one read of a tensor reads
//   i32   @d_t.NAME.N.index.D(...)  which element that is: its index along dimension D, inside the tensor
//
// with the arguments of all hooks; `@d_sink...` for the sink's. A read inside a reduction has one derivative
// an iteration: its functions take the index of each reduction around it that it depends on (%i0, %i1, ...).
// What comes out as a number needs no function and has none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/ir/hook_ir.h"

namespace fa {

/// How often a value differs, so how a kernel finds it or adds it up: once a call, a head, a row, a column, a
/// diagonal (q_idx and kv_idx come in through their difference alone), or an element.
enum class Per : std::uint8_t { call, head, row, column, distance, element };
std::string_view name_of(Per per);

/// One value of the adjoint code.
struct Derived {
  ExprPtr expr{};                            // what `function` was lowered from
  const llvm::Function* function = nullptr;  // null: the literal `expr`
  DependsOn depends{};
  Per per = Per::call;

  /// The number it always is, where it has no function.
  std::optional<double> number() const;
};

/// A reduction around a read: `expr` runs from 0 up to `count`, or to a run-time number if that is less.
struct DerivedLoop {
  int id = 0;
  int count = 0;
  ExprPtr range{};  // i32, the same for a whole call; null: `count`
};

/// The derivative by what one read of a captured tensor reads, or by a param.
struct Adjoint {
  enum class Of : std::uint8_t { param, tensor };
  Of of = Of::param;
  int index = 0;  // into the spec's params or tensors
  std::string name;
  Derived value;
  std::vector<Derived> indices;  // of a read: one a dimension
  Per place = Per::call;         // of a read: how often the element differs
  std::vector<DerivedLoop> loops;
  int line = 0, column = 0;  // of the read in the spec
};

/// The derivatives of one hook.
struct HookDerivatives {
  Derived score;                  // by the score; the sink has none
  std::vector<Adjoint> adjoints;  // params first, then reads in the order of their tensors
};

struct Derivatives {
  IrModule module;  // of the functions below
  HookDerivatives score_mod;
  HookDerivatives sink;

  /// A line for each derivative, then the functions. The text of `facet emit --stage derive`.
  std::string print() const;
};

/// `hooks` are those of `spec`. Throws SpecError where a gradient that the spec asks for cannot come about
/// (hooks from files; of others the checker knows).
Derivatives derive(const CheckedSpec& spec, const HookIr& hooks);

}  // namespace fa
