// Random expressions of a chosen type over chosen indices, with the tables and params they read. Numbers stay
// small (a few units) and far from poles, so that kernels and the reference can be compared closely.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace fa::test {

/// What an expression may depend on, besides b, h and the lengths.
enum class Over { head, row, column, element, distance };

/// A piece of an expression.
struct Part {
  Part(std::string_view of) : text(of) {}
  Part(const std::string& of) : text(of) {}
  Part(const char* of) : text(of) {}
  Part(int of) : text(std::to_string(of)) {}
  std::string text;
};
/// Fills the parts into the places of `form`, as fmt::format does. They stand in braces, because every compiler evaluates those
/// from left to right, and arguments in an order of its own: so a seed stands for the same expression whichever compiler is used.
std::string written(const char* form, std::initializer_list<Part> parts);

class Expressions {
 public:
  explicit Expressions(std::uint64_t seed) : random_(seed) {}

  std::string real(Over over, int depth);       // f32
  std::string whole(Over over, int depth);      // i32
  std::string condition(Over over, int depth);  // bool
  /// A read of a new table of `type` and `rank`, its indices over `over`.
  std::string table(std::string_view type, int rank, Over over);
  /// The function is used by the next `real` or `whole` that can.
  void use_next(std::string_view function) { wanted_ = function; }
  bool used() const { return wanted_.empty(); }
  /// Where reductions are allowed, they have this many steps (0: none are made).
  void set_reduction(int count) { reduction_ = count; }
  /// No table is made once there are so many tensors.
  void set_most_tensors(int count) { most_tensors_ = count; }
  /// The name of the score where it may be used; empty elsewhere.
  void set_score(std::string_view name) { score_ = name; }

  /// The declarations of all params and tensors so far, one line each.
  const std::string& declarations() const { return declarations_; }
  std::string param(std::string_view type, std::string_view value);
  /// A tensor with these extents and an optional example; its name.
  std::string tensor(std::string_view type, const std::string& extents, const std::string& example = "");

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  template <class List>
  const auto& pick(const List& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(std::size(list))))];
  }

 private:
  std::string index(Over over);  // an index itself
  std::string leaf_real(Over over);
  std::string call(std::string_view function, Over over, int depth);
  std::string guarded(std::string_view function, const std::string& x) const;
  std::string power(Over over, int depth);
  std::string composite(Over over, int depth);
  std::string own_function(Over over, int depth);
  std::string range();  // of a reduction
  std::string reduce(std::string_view kind, const std::string& body_type, Over over, int depth);
  bool may_reduce() const { return reduction_ > 0 && open_loops_.size() < 2; }
  bool has_loop() const { return open_loops_.size() > hidden_loops_; }

  std::mt19937_64 random_;
  std::string declarations_;
  std::string wanted_;
  std::string_view score_;
  int reduction_ = 0;
  int most_tensors_ = 12;  // of the 16 that a spec may have: forms of hooks and sinks have some of their own
  int tensors_ = 0, params_ = 0, loops_ = 0, functions_ = 0;
  std::vector<std::string> open_loops_;
  std::size_t hidden_loops_ = 0;         // those around the call of the function whose body is written
  std::vector<std::string> parameters_;  // of that function
};

}  // namespace fa::test
