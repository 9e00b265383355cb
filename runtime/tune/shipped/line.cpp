#include "runtime/tune/shipped/line.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "compiler/spec/spec.h"
#include "runtime/tune/fields.h"
#include "runtime/tune/tune.h"

namespace fa {
namespace {

constexpr const char* kCode = "any";  // templates: a plan holds for all that have it
constexpr std::int64_t kMostHeadDim = 1 << 16;
constexpr DType kDTypes[] = {DType::f16, DType::bf16, DType::f32};

double rounded(double milliseconds) { return std::stod(fmt::format("{:.4g}", milliseconds)); }

std::string print_day(std::int64_t date) {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(date)));
}

/// Seconds since 1970 of "2026-11-26", the beginning of that day; nothing where it is no day.
std::optional<std::int64_t> read_day(const std::string& text) {
  std::tm day = {};
  const char* const end = strptime(text.c_str(), "%Y-%m-%d", &day);
  if (end == nullptr || *end != '\0') return {};
  const std::int64_t date = timegm(&day);
  if (date < 0 || print_day(date) != text) return {};
  return date;
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

ShippedPlan shipped_plan(const CheckedSpec& spec, const TunedPlan& found, const std::string& commit) {
  ShippedPlan plan{.spec = spec.name,
                   .dtype = spec.dtype,
                   .head_dim = spec.head_dim,
                   .head_dim_v = spec.head_dim_v,
                   .tuned = found};
  plan.tuned.key.code = kCode;
  plan.tuned.shipped = commit;
  // As the line will say it, so that what is decided by it is decided alike when it is read.
  plan.tuned.ms = rounded(found.ms);
  plan.tuned.gain = rounded(found.ms * found.gain) / plan.tuned.ms;
  plan.tuned.date = read_day(print_day(found.date)).value_or(0);
  plan.tuned.worth_timing.clear();
  return plan;
}

std::string encode(const ShippedPlan& plan) {
  const TunedPlan& tuned = plan.tuned;
  const ProblemSize size = tuned.size.value_or(ProblemSize{});
  // For people who read a diff: whom it is for comes first, then what was found, then by what.
  const nlohmann::ordered_json line{{"spec", plan.spec},
                                    {"dtype", dtype_name(plan.dtype)},
                                    {"head_dim", plan.head_dim},
                                    {"head_dim_v", plan.head_dim_v},
                                    {"size",
                                     {{"batch", size.batch},
                                      {"heads", size.num_q_heads},
                                      {"kv_heads", size.num_kv_heads},
                                      {"q_len", size.q_len},
                                      {"kv_len", size.kv_len}}},
                                    {"problem", tuned.problem},
                                    {"found", tuned.predicted ? "predicted" : "measured"},
                                    {"plan", tuned.plan},
                                    {"ms", rounded(tuned.ms)},
                                    {"default_plan", tuned.default_plan},
                                    {"default_ms", rounded(tuned.ms * tuned.gain)},
                                    {"timed", tuned.timed},
                                    {"of", tuned.of},
                                    {"finished", tuned.finished},
                                    {"device", tuned.key.device},
                                    {"compiler", tuned.key.compiler},
                                    {"commit", tuned.shipped},
                                    {"date", print_day(tuned.date)},
                                    {"hash", tuned.key.spec}};
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<ShippedPlan> decode_shipped(std::string_view line, std::string_view gpu, std::string& problem) {
  LineFields fields(line);
  const std::string dtype = fields.text("dtype"), found = fields.text("found");
  const auto number = [&](const char* name, std::int64_t most) {
    return static_cast<int>(fields.count(name, most));
  };
  ShippedPlan plan;
  plan.spec = fields.text("spec");
  plan.head_dim = number("head_dim", kMostHeadDim);
  plan.head_dim_v = number("head_dim_v", kMostHeadDim);
  TunedPlan& tuned = plan.tuned;
  tuned.size = fields.size("size");
  tuned.problem = fields.text("problem");
  tuned.predicted = found == "predicted";
  tuned.plan = fields.text("plan");
  tuned.ms = fields.positive("ms");
  tuned.default_plan = fields.text("default_plan");
  tuned.gain = fields.positive("default_ms") / tuned.ms;
  tuned.timed = number("timed", kMostNumber);
  tuned.of = number("of", kMostNumber);
  tuned.finished = fields.flag("finished");
  tuned.key = {.spec = fields.text("hash"),
               .code = kCode,
               .device = fields.text("device"),
               .compiler = fields.text("compiler")};
  tuned.shipped = fields.text("commit");
  const std::optional<std::int64_t> day = read_day(fields.text("date"));
  if (fields.ok()) {
    const auto known = std::ranges::find(kDTypes, dtype, dtype_name);
    if (known == std::end(kDTypes)) fields.refuse("dtype");
    if (known != std::end(kDTypes)) plan.dtype = *known;
    if (found != "predicted" && found != "measured") fields.refuse("found");
    if (plan.spec.empty()) fields.refuse("spec");
    if (tuned.shipped.empty()) fields.refuse("commit");
    if (!day) fields.refuse("date");
    if (!is_hex(tuned.key.spec)) fields.refuse("hash");
  }
  if (!fields.ok()) {
    problem = fields.wrong().empty() ? "is no JSON object"
                                     : fmt::format("field '{}' is missing or wrong", fields.wrong());
    return {};
  }
  tuned.date = *day;
  tuned.label = kernel_label(plan.spec, plan.dtype, plan.head_dim, plan.head_dim_v, gpu);
  return plan;
}

}  // namespace fa
