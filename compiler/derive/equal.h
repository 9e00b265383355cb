// Makes one node of what a spec says twice: every mention of a param, and `score + bias[h]` at each place
// where it is written, is a node of its own at first. One node gets one gradient.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/spec/expr.h"

namespace fa {

/// Keeps what it returns. No node that it was asked about may be freed while this object lives.
class Equals {
 public:
  /// The same expression, in which equal parts are shared: those of this and of all calls before. A part's
  /// place is where it first stands.
  ExprPtr unified(const ExprPtr& expr);

 private:
  std::unordered_map<const Expr*, std::size_t> known_;           // into nodes_
  std::map<std::vector<std::int64_t>, std::size_t> by_content_;  // a node's own, then its arguments' numbers
  std::vector<ExprPtr> nodes_;
};

}  // namespace fa
