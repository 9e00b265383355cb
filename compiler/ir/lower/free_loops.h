// Which reductions' indices an expression reads without being inside those reductions.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/spec/expr.h"

namespace fa {

/// Answers are kept by a node's address: none may be freed while this lives.
class FreeLoops {
 public:
  const std::vector<int>& of(const Expr& expr);

 private:
  std::unordered_map<const Expr*, std::vector<int>> known_;
};

}  // namespace fa
