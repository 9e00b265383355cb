#include "tools/plans/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "compiler/schedule/baseline/baseline.h"
#include "compiler/schedule/plan_text.h"
#include "compiler/schedule/shape.h"
#include "compiler/spec/words.h"
#include "tools/command/arguments.h"

namespace fa::tools {

namespace {

constexpr std::string_view kMinCtas = "min_ctas";

/// Whether a plan's text says what the field is.
bool sets(std::string_view plan, std::string_view field) {
  bool found = false;
  for_each_word(plan,
                [&](std::string_view word) { found = found || word.substr(0, word.find('=')) == field; });
  return found;
}

/// A plan's text without some of its fields.
std::string without(std::string_view plan, const std::set<std::string_view>& fields) {
  std::string rest;
  for_each_word(plan, [&](std::string_view word) {
    if (fields.contains(word.substr(0, word.find('=')))) return;
    rest += fmt::format("{}{}", rest.empty() ? "" : " ", word);
  });
  return rest;
}

/// Values that the field may have in a plan of the same family and loop order; others cannot run.
std::vector<int> possible_values(std::string_view field, const Plan& base, const CheckedSpec& spec,
                                 const Target& target) {
  std::set<int> values;
  if (base.is_baseline()) {  // of which there is no list
    for (int value = 0; value <= kMaxTile; ++value) values.insert(value);
  } else {
    for (const Plan& plan : legal_plans(spec, target))
      if (plan.family == base.family) values.insert(plan_field(plan, field).value());
  }
  return {values.begin(), values.end()};
}

}  // namespace

Sweep parse_sweep(std::string_view text) {
  const std::size_t equals = text.find('=');
  Sweep sweep{.field = std::string(text.substr(0, equals)), .values = {}};
  const std::vector<std::string> fields = plan_fields();
  if (std::ranges::find(fields, sweep.field) == fields.end()) {
    const std::string meant =
        closest(sweep.field, std::vector<std::string_view>(fields.begin(), fields.end()));
    throw ArgumentError(
        fmt::format("--sweep: no field of a plan is called '{}'{}; the fields are {}", sweep.field,
                    meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant), fmt::join(fields, ", ")));
  }
  if (equals == std::string_view::npos) return sweep;
  const auto refuse = [&](const std::string& problem) {
    return ArgumentError(
        fmt::format("--sweep {}: {}; write values as {}=32,64, or {} alone for every legal one", text,
                    problem, sweep.field, sweep.field));
  };
  for_each_word(text.substr(equals + 1), [&](std::string_view word) {
    int value = 0;
    try {
      value = parse_plan_number(sweep.field, word);
    } catch (const ArgumentError&) {
      throw refuse(fmt::format("'{}' is not a number", word));
    }
    if (std::ranges::find(sweep.values, value) != sweep.values.end())
      throw refuse(fmt::format("{} stands twice", value));
    sweep.values.push_back(value);
  });
  if (sweep.values.empty()) throw refuse("it names no value");
  return sweep;
}

void check_apart_from_plan(const Sweep& sweep, const std::string& forced) {
  if (!sets(forced, sweep.field)) return;
  throw ArgumentError(fmt::format("--sweep {} and {} both say what {} is: leave it out of one", sweep.field,
                                  describe_plan(forced), sweep.field));
}

std::vector<SweptPlan> plans_of_sweep(const Sweep& sweep, const Plan& base, std::string_view forced,
                                      const CheckedSpec& spec, const Facts& facts, const Target& target) {
  const std::string text = base.print();
  if (!plan_field(base, sweep.field))
    throw ArgumentError(fmt::format("--sweep {}: plans of {} kernels have no such field: '{}'", sweep.field,
                                    family_name(base.family), text));
  std::set<std::string_view> left_out{sweep.field};
  if (!sets(forced, kMinCtas)) left_out.insert(kMinCtas);
  // As it is; else its tiles; else what was asked for.
  const std::array<std::string, 3> bases{
      without(text, left_out),
      fmt::format("{} {}", without(text, {sweep.field, "warps", "stages", "q_in_registers", kMinCtas}),
                  forced),
      fmt::format("{} {} {}", family_name(base.family), loop_order_name(base.loop_order), forced)};

  const auto plan_with = [&](int value) {
    if (value == plan_field(base, sweep.field)) return SweptPlan{value, text, {}};
    SweptPlan swept{.value = value, .plan = {}, .error = {}};
    for (const std::string& others : bases) {
      try {
        const std::string whole = fmt::format("{} {}={}", others, sweep.field, value);
        return SweptPlan{value, choose_forced(spec, facts, target, whole).plan.print(), {}};
      } catch (const ArgumentError& error) {
        if (swept.error.empty()) swept.error = error.what();  // of the plan that is asked for
      }
    }
    return swept;
  };

  std::vector<SweptPlan> plans;
  const bool all = sweep.values.empty();
  for (const int value : all ? possible_values(sweep.field, base, spec, target) : sweep.values) {
    SweptPlan swept = plan_with(value);
    if (swept.error.empty() || !all) plans.push_back(std::move(swept));
  }
  return plans;
}

}  // namespace fa::tools
