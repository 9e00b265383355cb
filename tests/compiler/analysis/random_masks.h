// Seeded mask expressions, for tests that compare tile classes with brute force. They name the params `n` and
// `big`, and the tensors `table` (i32), `reals` (f32) and `flags` (bool) of one dimension.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>

namespace fa::test {

/// Random mask expressions of the whole language.
class RandomMask {
 public:
  explicit RandomMask(std::mt19937& random) : random_(random) {}

  std::string boolean(int depth) {
    switch (pick(depth <= 0 ? 4 : 10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return compare(depth);
      case 4:
      case 5:
        return fmt::format("({} and {})", boolean(depth - 1), boolean(depth - 1));
      case 6:
        return fmt::format("({} or {})", boolean(depth - 1), boolean(depth - 1));
      case 7:
        return fmt::format("(not {})", boolean(depth - 1));
      case 8:
        return fmt::format("where({}, {}, {})", boolean(depth - 2), boolean(depth - 1), boolean(depth - 1));
      default:
        return fmt::format("flags[{}]", index());
    }
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  std::string compare(int depth) {
    static constexpr const char* kOps[] = {"<", "<=", ">", ">=", "==", "!="};
    return fmt::format("({} {} {})", integer(depth), kOps[pick(6)], integer(depth));
  }

  std::string index() {
    static constexpr const char* kIndices[] = {"q_idx",      "kv_idx", "q_idx / 3",
                                               "kv_idx % 5", "h",      "q_idx - kv_idx"};
    return kIndices[pick(6)];
  }

  std::string integer(int depth) {
    if (depth <= 0 || pick(3) == 0) {
      static constexpr const char* kLeaves[] = {"q_idx", "kv_idx", "q_idx", "kv_idx", "b",         "h",
                                                "n",     "big",    "q_len", "kv_len", "group_size"};
      if (pick(4) == 0) return std::to_string(pick(40) - 8);
      return kLeaves[pick(11)];
    }
    static constexpr const char* kConstants[] = {"2", "3", "4", "7", "8", "16", "-3", "n", "(n + 2)"};
    switch (pick(15)) {
      case 0:
      case 1:
        return fmt::format("({} + {})", integer(depth - 1), integer(depth - 1));
      case 2:
      case 3:
      case 4:
        return fmt::format("({} - {})", integer(depth - 1), integer(depth - 1));
      case 5:
        return fmt::format("({} * {})", integer(depth - 1),
                           pick(2) == 0 ? integer(depth - 2) : kConstants[pick(9)]);
      case 6:
      case 7:
        return fmt::format("({} / {})", integer(depth - 1), kConstants[pick(9)]);
      case 8:
      case 9:
        return fmt::format("({} % {})", integer(depth - 1), kConstants[pick(9)]);
      case 10:
        return fmt::format("{}({}, {})", pick(2) == 0 ? "min" : "max", integer(depth - 1),
                           integer(depth - 1));
      case 11:
        return fmt::format("abs({})", integer(depth - 1));
      case 12: {
        static constexpr const char* kBits[] = {"&", "|", "^", "<<", ">>"};
        const int op = pick(5);
        return fmt::format("({} {} {})", integer(depth - 1), kBits[op], op >= 3 ? "2" : integer(depth - 1));
      }
      case 13:
        return fmt::format("where({}, {}, {})", boolean(depth - 2), integer(depth - 1), integer(depth - 1));
      default:
        return fmt::format("table[{}]", index());
    }
  }

  std::mt19937& random_;
};

/// Masks as people write them: conditions on distances, blocks and remainders, joined.
class PlausibleMask {
 public:
  explicit PlausibleMask(std::mt19937& random) : random_(random) {}

  std::string boolean(int depth) {
    if (depth <= 0) return atom();
    switch (pick(7)) {
      case 0:
      case 1:
      case 2:
        return fmt::format("({} and {})", boolean(depth - 1), boolean(depth - 1));
      case 3:
      case 4:
        return fmt::format("({} or {})", boolean(depth - 1), boolean(depth - 1));
      case 5:
        return fmt::format("(not {})", boolean(depth - 1));
      default:
        return fmt::format("where({}, {}, {})", atom(), boolean(depth - 1), boolean(depth - 1));
    }
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::string op() {
    static constexpr const char* kOps[] = {"<", "<=", ">", ">=", "==", "!="};
    return kOps[pick(6)];
  }
  std::string distance() {
    static constexpr const char* kDistances[] = {"(q_idx - kv_idx)", "(q_idx + (kv_len - q_len) - kv_idx)",
                                                 "(kv_idx - q_idx + 3)"};
    return kDistances[pick(3)];
  }
  std::string block() {
    static constexpr const char* kBlocks[] = {"4", "7", "16", "24", "n", "(n + 2)"};
    return kBlocks[pick(6)];
  }
  std::string index() { return pick(2) == 0 ? "q_idx" : "kv_idx"; }
  std::string shifted() { return pick(3) == 0 ? fmt::format("({} - {})", index(), pick(30)) : index(); }

  std::string atom() {
    const std::string by = block();
    switch (pick(12)) {
      case 0:
      case 1:
        return fmt::format("{} {} {}", distance(), op(), pick(40) - 5);
      case 2:
        return fmt::format("{} % {} == {}", distance(), by, pick(3));
      case 3:
        return fmt::format("q_idx / {0} {1} kv_idx / {0}", by, op());
      case 4:
        return fmt::format("q_idx % {0} {1} kv_idx % {0}", by, op());
      case 5:
        return fmt::format("{} {} {}", shifted(), op(), pick(60));
      case 6:
        return fmt::format("abs(q_idx / {0} - kv_idx / {0}) <= {1}", by, pick(3));
      case 7:
        return fmt::format("abs({}) <= {}", distance(), pick(20));
      case 8:
        return fmt::format("{} % {} {} {}", shifted(), by, op(), pick(5));
      case 9:
        return "table[q_idx] == table[kv_idx]";
      case 10:
        return fmt::format("flags[(q_idx / {0}) * 9 + kv_idx / {0}]", by);
      default:
        return fmt::format("({0} / {1}) {2} {3}", shifted(), by, op(), pick(6));
    }
  }

  std::mt19937& random_;
};

/// Masks that see rows by blocks, of which a tile has one, two or more: numbers drawn for a block of rows
/// against a column or a block of columns.
class BlockedMask {
 public:
  explicit BlockedMask(std::mt19937& random) : random_(random) {}

  std::string boolean(int depth) {
    if (depth <= 0) return atom();
    switch (pick(4)) {
      case 0:
        return fmt::format("({} and {})", boolean(depth - 1), boolean(depth - 1));
      case 1:
        return fmt::format("(not {})", boolean(depth - 1));
      default:
        return fmt::format("({} or {})", boolean(depth - 1), boolean(depth - 1));
    }
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::string block() {
    static constexpr const char* kBlocks[] = {"q_idx / 64", "q_idx / 128", "(q_idx >> 6)", "q_idx / 96"};
    return kBlocks[pick(8) == 0 ? 3 : pick(3)];
  }
  std::string drawn() {
    return fmt::format("(((({}) * {} + h) ^ (({}) * {})) & {})", block(), pick(40), block(), pick(9),
                       pick(2) == 0 ? 7 : 31);
  }

  std::string atom() {
    switch (pick(7)) {
      case 0:
      case 1:
        return fmt::format("{} == kv_idx / {}", drawn(), 1 + pick(40));
      case 2:
        return fmt::format("{} * 5 < kv_idx", drawn());
      case 3:
        return fmt::format("q_idx {} {}", pick(2) == 0 ? "<" : ">=", 64 * pick(5));
      case 4:
        return fmt::format("abs({} - kv_idx / 64) <= {}", block(), pick(3));
      case 5:
        return fmt::format("table[{}] == {}", block(), drawn());
      default:
        return pick(4) == 0 ? "q_idx >= kv_idx" : fmt::format("kv_idx < {}", pick(90));
    }
  }

  std::mt19937& random_;
};

/// Masks that go through f32: comparisons of floats and of what they are truncated to.
class FloatMask {
 public:
  explicit FloatMask(std::mt19937& random) : random_(random) {}

  std::string boolean(int depth) {
    switch (pick(6)) {
      case 0:
        return fmt::format("({} and {})", atom(depth), atom(depth));
      case 1:
        return fmt::format("({} or not {})", atom(depth), atom(depth));
      default:
        return atom(depth);
    }
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  std::string atom(int depth) {
    static constexpr const char* kOps[] = {"<", "<=", ">", ">=", "==", "!="};
    const char* const op = kOps[pick(pick(3) == 0 ? 6 : 4)];
    if (pick(2) == 0) return fmt::format("{} {} {}", real(depth), op, real(pick(2)));
    return fmt::format("i32({}) {} {}", real(depth), op,
                       pick(2) == 0 ? std::to_string(pick(12) - 2) : "kv_idx / 4");
  }

  std::string real(int depth) {
    if (depth <= 0 || pick(5) == 0) {
      static constexpr const char* kLeaves[] = {
          "(q_idx * 1.0)", "(kv_idx * 0.5)",     "(n * 0.25)",     "((q_idx - kv_idx) * 1.0)",
          "reals[q_idx]",  "(kv_idx / 8 * 2.0)", "(q_idx - 20.0)", "max((q_idx - kv_idx) * 1.0, 1.0)"};
      if (pick(4) == 0) return fmt::format("({})", 0.25 * (pick(60) - 20));
      return kLeaves[pick(8)];
    }
    static constexpr const char* kFunctions[] = {
        "log",  "log2",  "exp",   "exp2", "sqrt", "tanh",  "erf",   "abs",  "sin",      "floor",  "rsqrt",
        "ceil", "round", "trunc", "atan", "tan",  "log1p", "expm1", "sign", "softplus", "sigmoid"};
    switch (pick(9)) {
      case 0:
        return fmt::format("({} + {})", real(depth - 1), real(depth - 1));
      case 1:
        return fmt::format("({} - {})", real(depth - 1), real(depth - 1));
      case 2:
        return fmt::format("({} * {})", real(depth - 1), real(depth - 2));
      case 3:
        return fmt::format("({} / {})", real(depth - 1), real(depth - 2));
      case 4:
        return fmt::format("{}({}, {})", pick(2) == 0 ? "min" : "max", real(depth - 1), real(depth - 2));
      case 5:
        return fmt::format("where({} < {}, {}, {})", real(depth - 2), real(depth - 2), real(depth - 1),
                           real(depth - 1));
      default:
        return fmt::format("{}({})", kFunctions[pick(21)], real(depth - 1));
    }
  }

  std::mt19937& random_;
};

}  // namespace fa::test
