// The text form of a backward plan, which `explain` prints and FA_BACKWARD_PLAN reads.
#include <fmt/format.h>

#include <array>
#include <string>

#include "compiler/schedule/backward/backward_plan.h"
#include "compiler/schedule/plan_text.h"

namespace fa {
namespace {

struct PassField {
  std::string_view name;
  int TilePass::* value;
};
constexpr std::array kPassFields{PassField{"tile_q", &TilePass::tile_q},
                                 PassField{"tile_kv", &TilePass::tile_kv},
                                 PassField{"warps", &TilePass::warps},
                                 PassField{"column_warps", &TilePass::column_warps},
                                 PassField{"query_warps", &TilePass::query_warps},
                                 PassField{"parts", &TilePass::parts},
                                 PassField{"stages", &TilePass::stages}};

struct Flag {
  std::string_view name;
  bool BackwardPlan::* value;
};
constexpr std::array kFlags{
    Flag{"apart", &BackwardPlan::apart}, Flag{"dq_by_sums", &BackwardPlan::dq_by_sums},
    Flag{"delays_dq", &BackwardPlan::delays_dq}, Flag{"deterministic", &BackwardPlan::deterministic}};

struct Scope {
  std::string_view name;
  TilePass BackwardPlan::* pass;
};
constexpr std::array kScopes{Scope{"keys", &BackwardPlan::keys}, Scope{"queries", &BackwardPlan::queries}};

std::string print(const TilePass& pass) {
  std::string text;
  for (const PassField& field : kPassFields)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", field.name, pass.*field.value);
  return text;
}

template <class Known>
std::string names(const Known& known) {
  std::string text;
  for (const auto& one : known) text += fmt::format("{}{}", text.empty() ? "" : ", ", one.name);
  return text;
}

/// "keys(", at a word's start, taken off it: the pass whose fields follow, or null.
const Scope* take_scope(std::string_view& word) {
  for (const Scope& scope : kScopes)
    if (word.starts_with(scope.name) && word.substr(scope.name.size()).starts_with('(')) {
      word.remove_prefix(scope.name.size() + 1);
      return &scope;
    }
  return nullptr;
}

Family family_of(std::string_view word) {
  for (const FamilyTraits& known : all_families())
    if (word == known.name) return known.family;
  throw ArgumentError(fmt::format("'{}' is neither name=number nor a family of kernels", word));
}

void set(BackwardPlan& plan, const Scope* scope, std::string_view name, std::string_view text) {
  if (scope != nullptr) {
    for (const PassField& field : kPassFields)
      if (field.name == name) {
        plan.*scope->pass.*field.value = parse_plan_number(name, text);
        return;
      }
    throw ArgumentError(
        fmt::format("{} has no field '{}'; the fields are {}", scope->name, name, names(kPassFields)));
  }
  for (const Flag& flag : kFlags)
    if (flag.name == name) {
      plan.*flag.value = parse_plan_flag(name, text);
      return;
    }
  throw ArgumentError(fmt::format(
      "'{}' is neither of {}, nor inside keys(...) or queries(...), where tiles are", name, names(kFlags)));
}

}  // namespace

std::string BackwardPlan::print() const {
  std::string text(family_name(family));
  for (const Scope& scope : kScopes) text += fmt::format(" {}({})", scope.name, fa::print(this->*scope.pass));
  for (const Flag& flag : kFlags) text += fmt::format(" {}={:d}", flag.name, this->*flag.value);
  return text;
}

BackwardPlan parse_backward_plan(std::string_view text, const BackwardPlan& base) {
  BackwardPlan plan = base;
  const Scope* scope = nullptr;
  for_each_word(text, [&](std::string_view word) {
    if (const Scope* begun = take_scope(word)) {
      if (scope != nullptr)
        throw ArgumentError(fmt::format("{}( begins inside of {}(", begun->name, scope->name));
      scope = begun;
    }
    const bool ends = word.ends_with(')');
    if (ends) word.remove_suffix(1);
    if (ends && scope == nullptr) throw ArgumentError("a ')' ends nothing");
    const auto equals = word.find('=');
    if (equals != std::string_view::npos) {
      set(plan, scope, word.substr(0, equals), word.substr(equals + 1));
    } else if (!word.empty()) {
      plan.family = family_of(word);
    }
    if (ends) scope = nullptr;
  });
  if (scope != nullptr) throw ArgumentError(fmt::format("{}( has no ')'", scope->name));
  return plan;
}

}  // namespace fa
