// Walks expressions with a stack of its own: what a stage makes of a spec's expressions may nest deeper than
// kMaxDepth, and a caller's thread may have little stack.
#pragma once

#include <cstddef>
#include <unordered_set>
#include <utility>
#include <vector>

namespace fa {

/// Calls `visit(node)` for `root` and for all that `operands_of` leads to from there, each node once,
/// operands before their users. A node is a pointer; `operands_of(node)` returns a vector of nodes, in order.
template <class Node, class OperandsOf, class Visit>
void visit_operands_first(const Node& root, const OperandsOf& operands_of, const Visit& visit) {
  struct Open {
    Node node;
    std::vector<Node> operands;
    std::size_t next = 0;
  };
  std::unordered_set<const void*> seen = {&*root};
  std::vector<Open> open;
  open.push_back({root, operands_of(root)});
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next == top.operands.size()) {
      const Node node = std::move(top.node);
      open.pop_back();
      visit(node);
    } else if (Node operand = top.operands[top.next++]; seen.insert(&*operand).second) {
      std::vector<Node> operands = operands_of(operand);
      open.push_back({std::move(operand), std::move(operands)});
    }
  }
}

/// Calls `visit(node)` for `root` and for all that it leads to, each node once, from left to right and deep
/// before wide: each before what it leads to. `visit` returns a vector of the nodes to go on to.
template <class Node, class Visit>
void visit_users_first(const Node& root, const Visit& visit) {
  std::unordered_set<const void*> seen;
  std::vector<Node> open = {root};
  while (!open.empty()) {
    const Node node = std::move(open.back());
    open.pop_back();
    if (!seen.insert(&*node).second) continue;
    std::vector<Node> operands = visit(node);
    for (std::size_t i = operands.size(); i-- > 0;) open.push_back(std::move(operands[i]));
  }
}

}  // namespace fa
