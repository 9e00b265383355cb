// Evaluates checked expressions directly from the tree. Tests compare the compiler's lowering with it, so it
// shares no code with compiler/ir; it also fills a tensor from its example.
//
// Integers are int32. Floats are double, with how far a kernel's value may be from them; but what decides
// something (a comparison, a rounding to a whole number, an index) and does not come from the score is
// rounded to f32 at every step, as on every target. A decision that could go either way within the errors of
// its values makes everything that follows from it doubtful.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/spec/expr.h"
#include "compiler/spec/spec.h"
#include "fa/spec.h"
#include "tools/problem/host_tensor.h"
#include "tools/reference/measured.h"

namespace fa::tools {

/// The values of the names in an expression.
struct Environment {
  std::array<std::int32_t, 18> builtins{};  // by Builtin; the lane builtin's entry is its value in lane 0
  Builtin lane = Builtin::kv_idx;           // counts up by one from lane to lane
  const double* score = nullptr;            // one per lane; null where the expression has no score
  double score_error = 0;                   // how far a kernel's scores may be from these
  std::span<const Scalar> params;
  std::span<const HostTensor> tensors;  // in the spec's order

  std::int32_t& operator[](Builtin name) { return builtins[static_cast<std::size_t>(name)]; }
};

/// A decision that two correct targets may make differently. `left` and `right` are its operands in f32.
struct Doubt {
  const Expr* at = nullptr;  // the comparison, or what rounds to a whole number
  double left = 0, right = 0;
};

/// Evaluates one expression for up to kLanes consecutive values of the lane builtin at a time. Not
/// thread-safe: give each thread its own copy.
class Interpreter {
 public:
  static constexpr int kLanes = 256;

  /// `fast`: kernels may use the approximate functions of 16-bit data for what decides nothing.
  explicit Interpreter(ExprPtr root, bool fast = false);

  /// Results of an f32 root in lanes [0, lanes); valid until the next call.
  std::span<const double> evaluate_f32(const Environment& environment, int lanes);
  /// Results of an i32 or boolean (0 / 1) root.
  std::span<const std::int32_t> evaluate_i32(const Environment& environment, int lanes);
  /// The index of a reduction that is not part of the expression, for the calls that follow.
  void set_loop(int loop, std::int32_t index) { loop_values_[loop] = index; }
  /// How far a kernel's results may be from those of the last call (f32 only).
  std::span<const double> errors() const;
  /// The doubt in the last call's result of one lane.
  std::optional<Doubt> doubt(int lane) const;

 private:
  struct Node {
    const Expr* expr = nullptr;
    std::vector<int> args;
    std::vector<int> inside_loop;  // reduce: the nodes that change with its loop variable
    bool ready = false;
    bool by_score = false;
    Arithmetic arithmetic = Arithmetic::loose;
    std::vector<Measured> f32;  // one of the two, by type
    std::vector<std::int32_t> i32;
    bool is_doubtful = false;       // in some lane
    std::vector<int> doubts;        // then for each lane the decision's number + 1, or 0
    std::vector<Doubt> own_doubts;  // of a decision, by lane
  };

  int add(const ExprPtr& expr, std::unordered_map<const Expr*, int>& seen);
  void find_arithmetic();
  const Node& arg(const Node& node, std::size_t i) const {
    return nodes_[static_cast<std::size_t>(node.args[i])];
  }
  std::size_t lanes() const { return static_cast<std::size_t>(lanes_); }
  void set_doubt(Node& node, std::size_t lane, const Node& from);
  void raise_doubt(Node& node, std::size_t lane, double left, double right);
  void inherit_doubts(Node& node);
  void evaluate(int id);
  void evaluate_builtin(Node& node);
  void evaluate_unary(Node& node);
  void evaluate_binary(Node& node);
  void evaluate_logical(Node& node);
  void evaluate_comparison(Node& node);
  static Measured arithmetic(const Node& node, const Measured& a, const Measured& b);
  void evaluate_call(Node& node);
  void evaluate_sigmoid(Node& node);
  void evaluate_rsqrt(Node& node);
  void evaluate_cast(Node& node);
  void evaluate_where(Node& node);
  void evaluate_read(Node& node);
  void evaluate_reduce(Node& node);
  void fill_neutral(Node& node);
  static Measured combined(const Node& node, const Measured& total, const Measured& next);
  /// Whether the node turns floats into a value that jumps.
  static bool is_decision(const Expr& expr);
  void decide(Node& node, std::size_t lane, bool is_certain, double left, double right);

  ExprPtr root_;
  bool fast_;
  std::vector<Node> nodes_;              // arguments before their users
  std::vector<double> values_, errors_;  // of the root, as the caller gets them
  std::unordered_map<int, std::int32_t> loop_values_;
  const Environment* environment_ = nullptr;
  int lanes_ = 0;
};

/// A constant or problem-sized i32 expression, such as a tensor's extent.
std::int32_t evaluate_scalar(const ExprPtr& expr, const Environment& environment);

}  // namespace fa::tools
