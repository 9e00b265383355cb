// The text form of a Plan: what `explain` shows and what `--plan` takes back.
#include "compiler/schedule/plan.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace fa {
namespace {

struct Field {
  std::string_view name;
  int Plan::* value;
};
constexpr std::array kFields{Field{"tile_q", &Plan::tile_q}, Field{"tile_kv", &Plan::tile_kv},
                             Field{"warps", &Plan::warps}, Field{"stages", &Plan::stages},
                             Field{"min_ctas", &Plan::min_ctas}};
constexpr std::array kFamilies{Family::sm75, Family::sm80, Family::sm90, Family::host};
constexpr std::string_view kLoopOrder = "q_outer";
constexpr std::string_view kQInRegisters = "q_in_registers";
constexpr std::string_view kSpace = " \t\r\n,";

int parse_number(std::string_view field, std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw ArgumentError(fmt::format("plan: {} = '{}' is not a number", field, text));
  }
  return number;
}

void set_field(Plan& plan, std::string_view name, std::string_view text) {
  for (const Field& field : kFields) {
    if (field.name == name) {
      plan.*field.value = parse_number(name, text);
      return;
    }
  }
  if (name != kQInRegisters) {
    throw ArgumentError(
        fmt::format("plan: no field is called '{}'; the fields are tile_q, tile_kv, warps, stages, "
                    "q_in_registers, min_ctas",
                    name));
  }
  const int number = parse_number(name, text);
  if (number != 0 && number != 1)
    throw ArgumentError(fmt::format("plan: q_in_registers = {} is neither 0 nor 1", number));
  plan.q_in_registers = number == 1;
}

void set_word(Plan& plan, std::string_view word) {
  for (const Family family : kFamilies) {
    if (word == family_name(family)) {
      plan.family = family;
      return;
    }
  }
  if (word == kLoopOrder) {
    plan.loop_order = LoopOrder::q_outer;
    return;
  }
  throw ArgumentError(fmt::format("plan: '{}' is neither a family, a loop order nor name=number", word));
}

}  // namespace

std::string Plan::print() const {
  return fmt::format("{} {} tile_q={} tile_kv={} warps={} stages={} q_in_registers={} min_ctas={}",
                     family_name(family), kLoopOrder, tile_q, tile_kv, warps, stages, q_in_registers ? 1 : 0,
                     min_ctas);
}

Plan parse_plan(std::string_view text, const Plan& base) {
  Plan plan = base;
  for (auto begin = text.find_first_not_of(kSpace); begin != std::string_view::npos;
       begin = text.find_first_not_of(kSpace, begin)) {
    const auto end = std::min(text.find_first_of(kSpace, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) {
      set_word(plan, word);
    } else {
      set_field(plan, word.substr(0, equals), word.substr(equals + 1));
    }
    begin = end;
  }
  return plan;
}

}  // namespace fa
