// The text form of a Plan, which `explain` prints and `--plan` reads.
#include "compiler/schedule/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "compiler/schedule/plan_text.h"

namespace fa {
namespace {

struct Field {
  std::string_view name;
  int Plan::* value;
};
constexpr std::array kFields{Field{"tile_q", &Plan::tile_q}, Field{"tile_kv", &Plan::tile_kv},
                             Field{"warps", &Plan::warps}, Field{"stages", &Plan::stages},
                             Field{"min_ctas", &Plan::min_ctas}};
/// In the order of the enumeration.
constexpr std::array<std::string_view, 3> kLoopOrders{"q_outer", "standard", "kv_outer"};
struct PlanFlag {
  std::string_view name;
  bool Plan::* value;
};
constexpr PlanFlag kQInRegisters{"q_in_registers", &Plan::q_in_registers};
constexpr PlanFlag kSearchFirst{"search_first", &Plan::search_first};
constexpr std::array kPlanFlags{kQInRegisters, kSearchFirst};

void set_field(Plan& plan, std::string_view name, std::string_view text) {
  for (const Field& field : kFields) {
    if (field.name == name) {
      plan.*field.value = parse_plan_number(name, text);
      return;
    }
  }
  for (const PlanFlag& flag : kPlanFlags) {
    if (flag.name == name) {
      plan.*flag.value = parse_plan_flag(name, text);
      return;
    }
  }
  throw ArgumentError(
      fmt::format("plan: no field is called '{}'; the fields are {}", name, fmt::join(plan_fields(), ", ")));
}

/// Sets the fields for warps, shared memory and registers to the one value each that the host accepts.
Plan as_on_host(const Plan& plan) {
  return {.family = Family::host,
          .loop_order = plan.loop_order,
          .tile_q = plan.tile_q,
          .tile_kv = plan.tile_kv,
          .warps = 1,
          .stages = 1,
          .q_in_registers = false,
          .min_ctas = 1,
          .search_first = false};
}

void set_word(Plan& plan, std::string_view word) {
  for (const FamilyTraits& known : all_families()) {
    if (word == known.name) {
      if (known.family == Family::host) plan = as_on_host(plan);
      plan.family = known.family;
      return;
    }
  }
  if (const std::optional<LoopOrder> order = loop_order_named(word)) {
    plan.loop_order = *order;
    return;
  }
  throw ArgumentError(fmt::format("plan: '{}' is neither a family, a loop order nor name=number", word));
}

}  // namespace

std::string_view loop_order_name(LoopOrder order) { return kLoopOrders[static_cast<std::size_t>(order)]; }

std::optional<LoopOrder> loop_order_named(std::string_view word) {
  const auto found = std::ranges::find(kLoopOrders, word);
  if (found == kLoopOrders.end()) return {};
  return static_cast<LoopOrder>(found - kLoopOrders.begin());
}

std::vector<std::string> plan_fields() {
  std::vector<std::string> names;
  for (const Field& field : kFields) names.emplace_back(field.name);
  names.insert(names.end() - 1, std::string(kQInRegisters.name));  // before min_ctas
  names.emplace_back(kSearchFirst.name);
  return names;
}

std::optional<int> plan_field(const Plan& plan, std::string_view name) {
  const bool is_side = name == kFields[0].name || name == kFields[1].name;
  if (plan.family == Family::host && !is_side) return {};
  for (const PlanFlag& flag : kPlanFlags)
    if (flag.name == name) return plan.*flag.value ? 1 : 0;
  for (const Field& field : kFields)
    if (field.name == name) return plan.*field.value;
  return {};
}

std::string Plan::print() const {
  std::string text = fmt::format("{} {} tile_q={} tile_kv={}", family_name(family),
                                 loop_order_name(loop_order), tile_q, tile_kv);
  const Plan usual = as_on_host(*this);
  const auto add = [&](std::string_view name, int value, int on_host) {
    // The host has no use for these fields. They are printed only where one has a wrong value.
    if (family != Family::host || value != on_host) text += fmt::format(" {}={}", name, value);
  };
  add("warps", warps, usual.warps);
  add("stages", stages, usual.stages);
  add(kQInRegisters.name, q_in_registers ? 1 : 0, usual.q_in_registers ? 1 : 0);
  add("min_ctas", min_ctas, usual.min_ctas);
  if (search_first) text += fmt::format(" {}=1", kSearchFirst.name);
  return text;
}

Plan parse_plan(std::string_view text, const Plan& base) {
  Plan plan = base;
  const auto is_field = [](std::string_view word) { return word.find('=') != std::string_view::npos; };
  // The family is read first: the other fields, wherever they stand, may override what it sets.
  for_each_word(text, [&](std::string_view word) {
    if (!is_field(word)) set_word(plan, word);
  });
  for_each_word(text, [&](std::string_view word) {
    const auto equals = word.find('=');
    if (is_field(word)) set_field(plan, word.substr(0, equals), word.substr(equals + 1));
  });
  return plan;
}

}  // namespace fa
