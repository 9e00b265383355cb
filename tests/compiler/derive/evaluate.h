// Evaluates typed expressions in double, straight from the tree, with any number for the score, a param or an
// element of a tensor: what differences are taken of.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/derive/derive.h"
#include "compiler/ir/lower/free_loops.h"
#include "compiler/spec/expr.h"
#include "tools/problem/problem.h"

namespace fa::test {

/// All that a hook's value depends on.
struct Point {
  std::array<std::int32_t, 18> builtins{};
  double score = 0;
  std::vector<double> params;
  std::vector<std::vector<double>> tensors;
  std::vector<std::vector<std::int64_t>> shapes;

  Point(const tools::Problem& problem, double score, int b, int h, int q_idx, int kv_idx);
  std::int32_t& operator[](Builtin name) { return builtins[static_cast<std::size_t>(name)]; }
};

class Evaluator {
 public:
  explicit Evaluator(const Point& point) : point_(point), scopes_(1) {}

  /// Whatever the type; booleans are 0 and 1.
  double value(const Expr& expr);
  void open_loop(int id, int index) { scopes_.push_back({.loop = id, .index = index, .known = {}}); }
  void close_loop() { scopes_.pop_back(); }

  /// How every decision so far came out: comparisons, choices of min and max, roundings, indices.
  const std::vector<std::int64_t>& decisions() const { return decisions_; }

 private:
  struct Scope {
    int loop = -1, index = 0;
    std::unordered_map<const Expr*, double> known;
  };
  Scope& scope_of(const Expr& expr);
  double evaluate(const Expr& expr);
  double binary(const Expr& expr, double a, double b);
  double call(const Expr& expr);
  double read(const Expr& expr);
  double reduce(const Expr& expr);
  double decided(double x) {
    decisions_.push_back(static_cast<std::int64_t>(x));
    return x;
  }

  const Point& point_;
  FreeLoops free_loops_;
  std::vector<Scope> scopes_;
  std::vector<std::int64_t> decisions_;
};

/// The gradient of each element of the tensors, by the adjoints of a hook's reads.
struct ElementGradient {
  int tensor = 0;
  std::int64_t element = 0;
  double value = 0;
};
std::vector<ElementGradient> element_gradients(const Point& point, const HookDerivatives& derivatives);

}  // namespace fa::test
