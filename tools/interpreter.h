// Evaluates checked expressions in double and int32, straight from the tree: the second opinion on the
// compiler's lowering, and what fills a tensor from its example. Shares no code with compiler/ir.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/spec/expr.h"
#include "compiler/spec/spec.h"
#include "fa/spec.h"
#include "tools/host_tensor.h"

namespace fa::tools {

/// What the names of an expression stand for.
struct Environment {
  std::array<std::int32_t, 16> builtins{};  // by Builtin; the lane builtin's entry is its value in lane 0
  Builtin lane = Builtin::kv_idx;           // counts up by one from lane to lane
  const double* score = nullptr;            // one per lane; null where the expression has no score
  std::span<const Scalar> params;
  std::span<const HostTensor> tensors;  // in the spec's order

  std::int32_t& operator[](Builtin name) { return builtins[static_cast<std::size_t>(name)]; }
};

/// Evaluates one expression for up to kLanes consecutive values of the lane builtin at a time.
/// Not thread-safe: give each thread its own copy.
class Interpreter {
 public:
  static constexpr int kLanes = 256;

  explicit Interpreter(ExprPtr root);

  /// Results of an f32 root in lanes [0, lanes); valid until the next call.
  std::span<const double> evaluate_f32(const Environment& environment, int lanes);
  /// Results of an i32 or boolean (0 / 1) root.
  std::span<const std::int32_t> evaluate_i32(const Environment& environment, int lanes);

 private:
  struct Node {
    const Expr* expr = nullptr;
    std::vector<int> args;
    std::vector<int> inside_loop;  // reduce: the nodes that change with its loop variable
    bool ready = false;
    std::vector<double> f32;  // one of the two, by type
    std::vector<std::int32_t> i32;
  };

  int add(const ExprPtr& expr, std::unordered_map<const Expr*, int>& seen);
  void evaluate(int id);
  void evaluate_builtin(Node& node);
  void evaluate_unary(Node& node);
  void evaluate_binary(Node& node);
  void evaluate_call(Node& node);
  void evaluate_cast(Node& node);
  void evaluate_read(Node& node);
  void evaluate_reduce(Node& node);

  ExprPtr root_;
  std::vector<Node> nodes_;  // arguments before their users
  std::unordered_map<int, std::int32_t> loop_values_;
  const Environment* environment_ = nullptr;
  int lanes_ = 0;
};

/// A constant or problem-sized i32 expression, such as a tensor's extent.
std::int32_t evaluate_scalar(const ExprPtr& expr, const Environment& environment);

}  // namespace fa::tools
