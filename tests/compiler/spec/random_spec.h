// Random well-typed specs, and random noise, for the property tests of the front end.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compiler/spec/expr.h"
#include "compiler/spec/parse/ast.h"

namespace fa::test {

class RandomSpec {
 public:
  explicit RandomSpec(std::uint32_t seed) : random_(seed) {}

  /// A spec with every kind of item, as a tree without places.
  Ast spec();
  /// An expression of the type over the names declared so far.
  AstPtr expr(Type type, int depth);
  /// The same tree as text full of needless brackets, blanks, line ends and comments.
  std::string noisy(const AstExpr& expr);
  std::string noisy(const Ast& ast);

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

 private:
  struct Tensor {
    std::string name;
    Type type;
    int rank;
  };

  AstPtr leaf(Type type);
  AstPtr number(Type type);
  AstPtr boolean_expr(int depth);
  AstPtr integer_expr(int depth);
  AstPtr float_expr(int depth);
  AstPtr reduction(Reduction over, Type body, int depth);
  AstPtr read(const Tensor& tensor, int depth);
  AstPtr unary(Op op, AstPtr a);
  AstPtr binary(Op op, AstPtr a, AstPtr b);
  AstPtr call(std::string name, std::vector<AstPtr> args);
  AstPtr name(std::string text);
  std::string blank();
  std::string brackets(const std::string& text) { return "(" + blank() + text + blank() + ")"; }

  std::mt19937 random_;
  std::vector<std::pair<std::string, Type>> names_;
  std::vector<Tensor> tensors_;
  bool score_ = false;  // whether the score is in scope
  int steps_ = 1;       // of the reductions around
  int loops_ = 0;
  int lets_ = 0;
};

/// The language's words in random order.
std::string word_soup(std::mt19937& random);
/// `text` with a few bytes changed, dropped, doubled or made up.
std::string mutated(std::string text, std::mt19937& random);

}  // namespace fa::test
