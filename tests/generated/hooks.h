// The forms of score_mod and the kinds of mask_mod that made-up specs choose from.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/generated/expressions.h"

namespace fa::test {

/// What a hook is written from: among others a table and a function that it must use, where they fit.
struct HookTools {
  Expressions& make;
  std::string_view table_type;
  int table_rank;
  Over over;
  std::string_view function;
  int depth;
  std::string head{};  // items to stand before the expressions' own declarations

  /// An f32 over `over` that reads the table and calls the function, each in the first hook that asks.
  std::string real(Over of) { return real(of, depth); }
  std::string real(Over of, int deep);
  bool has_table = false;
};

struct HookForm {
  std::string_view name;
  std::function<std::string(HookTools&)> write;  // the item's line or lines, or nothing
  bool is_from_file = false;                     // its spec has the tensors that the files read
};

const std::vector<HookForm>& score_forms();
const std::vector<HookForm>& mask_kinds();

}  // namespace fa::test
