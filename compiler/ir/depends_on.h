// What a value differs by: the one set that every analysis of dependence answers with, of the language's
// expressions (compiler/ir/range/bounds) and of LLVM's values (compiler/analysis/dependence).
#pragma once

#include <cstdint>
#include <string>

namespace fa {

/// A set of {b, h, q_idx, kv_idx, score}; empty = the same for the whole call.
struct DependsOn {
  enum : std::uint8_t { b = 1, h = 2, q = 4, kv = 8, score = 16 };
  std::uint8_t bits = 0;

  /// Any of them, where `any` has several.
  constexpr bool has(unsigned any) const { return (bits & any) != 0; }
  constexpr bool has_all(unsigned all) const { return (bits & all) == all; }
  /// Those of q and kv.
  constexpr unsigned sides() const { return bits & (q | kv); }
  /// Whether each element of a tile may have a value of its own.
  constexpr bool is_of_element() const { return has(score) || has_all(q | kv); }

  constexpr DependsOn& operator|=(DependsOn other) {
    bits |= other.bits;
    return *this;
  }
  constexpr bool operator==(const DependsOn&) const = default;
  std::string print() const;  // "{h, q, kv}"
};

}  // namespace fa
