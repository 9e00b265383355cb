// Finds the reductions whose indices an expression reads without being inside them.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/spec/expr.h"

namespace fa {

/// Results are kept by a node's address, so no node may be freed while this object lives.
class FreeLoops {
 public:
  const std::vector<int>& of(const Expr& expr);

 private:
  std::vector<int> find(const Expr& expr) const;

  std::unordered_map<const Expr*, std::vector<int>> known_;
};

}  // namespace fa
