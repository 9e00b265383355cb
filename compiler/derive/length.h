// How long the code of an expression gets.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "compiler/ir/lower/free_loops.h"
#include "compiler/spec/expr.h"

namespace fa {

/// Nodes are known by their addresses, so none may be freed while this object lives.
class Length {
 public:
  /// The operations of a function that returns `expr`: what is shared counts once, the body of a reduction
  /// once for each reduction that runs it. Right up to `most`; then any number above it.
  std::size_t of(const Expr& expr, std::size_t most);

 private:
  std::size_t of_body(const Expr& reduce);

  std::size_t left_ = 0;  // nodes that may still be looked at
  FreeLoops free_loops_;
  std::unordered_map<const Expr*, std::size_t> bodies_;
};

}  // namespace fa
