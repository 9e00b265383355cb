#include "runtime/tune/record.h"

#include <algorithm>

#include "runtime/tune/fields.h"

namespace fa {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;  // raise it where a field changes its meaning; lines of other formats are skipped

std::string line_of(const json& record) {
  return record.dump(-1, ' ', false, json::error_handler_t::replace);  // names of files may be no UTF-8
}

json to_json(const TuneKey& key) {
  return {{"format", kFormat},
          {"spec", key.spec},
          {"code", key.code},
          {"device", key.device},
          {"compiler", key.compiler}};
}

json to_json(const ProblemSize& size) {
  return {{"batch", size.batch},
          {"heads", size.num_q_heads},
          {"kv_heads", size.num_kv_heads},
          {"q_len", size.q_len},
          {"kv_len", size.kv_len}};
}

/// Lines of another format are of no use.
LineFields fields_of(std::string_view line) {
  LineFields fields(line);
  if (fields.ok() && fields.number("format") != kFormat) fields.refuse("format");
  return fields;
}

constexpr std::int64_t kLastDate = std::int64_t{1} << 40;  // seconds

json to_json(const SassCounts& counts) {
  json result = json::object();
  for (std::size_t kind = 0; kind < kNumSassKinds; ++kind)
    if (counts[kind] != 0) result[std::string(sass_kind_name(static_cast<SassKind>(kind)))] = counts[kind];
  return result;
}

/// Whether `plan` takes the place of `other`, which came before it and holds for the same key.
bool replaces(const TunedPlan& plan, const TunedPlan& other) {
  if (plan.predicted != other.predicted) return other.predicted;
  return plan.date >= other.date;
}

/// Calls `take` with each line of `bytes` that is not empty, and whether it has its end.
void for_each_line(std::string_view bytes, const auto& take) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const bool has_end = end < bytes.size();
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (!line.empty()) take(line, has_end);
  }
}

template <class Record>
Records<Record> decode_all(std::string_view bytes, std::string_view with,
                           std::optional<Record> (*decode)(std::string_view)) {
  Records<Record> found;
  for_each_line(bytes, [&](std::string_view line, bool has_end) {
    if (!with.empty() && line.find(with) == std::string_view::npos) return;
    if (std::optional<Record> record = decode(line)) {
      found.records.push_back(std::move(*record));
    } else if (has_end) {  // else it is being written just now
      ++found.junk;
    }
  });
  return found;
}

}  // namespace

std::string encode(const TunedPlan& plan) {
  json record = to_json(plan.key);
  record.update({{"label", plan.label},
                 {"problem", plan.problem},
                 {"plan", plan.plan},
                 {"ms", plan.ms},
                 {"gain", plan.gain},
                 {"default_plan", plan.default_plan},
                 {"timed", plan.timed},
                 {"of", plan.of},
                 {"finished", plan.finished},
                 {"date", plan.date}});
  if (plan.size) record["size"] = to_json(*plan.size);
  if (plan.predicted) record.update({{"predicted", true}, {"worth_timing", plan.worth_timing}});
  return line_of(record);
}

std::string encode(const TunedTiming& timing) {
  json record = to_json(timing.key);
  record.update({{"problem", timing.problem},
                 {"plan", timing.plan},
                 {"runs", timing.runs},
                 {"ratio", timing.ratio},
                 {"ms", timing.ms},
                 {"failed", timing.failed}});
  return line_of(record);
}

std::string encode(const TunedBuild& build) {
  json record = to_json(build.key);
  record.update({{"plan", build.plan}, {"failure", build.failure}});
  if (build.failure.empty()) {
    record.update({{"registers", build.built.registers},
                   {"shared_memory", build.built.shared_memory},
                   {"spill_bytes", build.built.spill_bytes},
                   {"looped_spills", build.built.looped_spills},
                   {"instructions", to_json(build.mix.all)},
                   {"in_loops", to_json(build.mix.in_loops)},
                   {"unknown", build.mix.unknown}});
  }
  return line_of(record);
}

std::optional<TunedPlan> decode_plan(std::string_view line) {
  LineFields fields = fields_of(line);
  TunedPlan plan{.key = fields.key(),
                 .label = fields.text("label"),
                 .problem = fields.text("problem"),
                 .plan = fields.text("plan"),
                 .ms = fields.positive("ms"),
                 .gain = fields.positive("gain"),
                 .default_plan = fields.text("default_plan"),
                 .timed = static_cast<int>(fields.count("timed", kMostNumber)),
                 .of = static_cast<int>(fields.count("of", kMostNumber)),
                 .finished = fields.flag("finished"),
                 .date = fields.count("date", kLastDate)};
  if (fields.has("predicted")) plan.predicted = fields.flag("predicted");
  if (plan.predicted) plan.worth_timing = fields.texts("worth_timing");
  if (fields.has("size")) plan.size = fields.size("size");
  if (!fields.ok()) return {};
  return plan;
}

std::optional<TunedTiming> decode_timing(std::string_view line) {
  LineFields fields = fields_of(line);
  const bool failed = fields.flag("failed");
  TunedTiming timing{.key = fields.key(),
                     .problem = fields.text("problem"),
                     .plan = fields.text("plan"),
                     .runs = static_cast<int>(fields.count("runs", kMostNumber)),
                     .ratio = failed ? 1 : fields.positive("ratio"),
                     .ms = failed ? 0 : fields.positive("ms"),
                     .failed = failed};
  if (!fields.ok()) return {};
  return timing;
}

std::optional<TunedBuild> decode_build(std::string_view line) {
  LineFields fields = fields_of(line);
  TunedBuild build{.key = fields.key(),
                   .plan = fields.text("plan"),
                   .built = {},
                   .mix = {},
                   .failure = fields.text("failure")};
  if (fields.ok() && build.failure.empty()) {
    const auto number = [&](const char* name) { return static_cast<int>(fields.count(name, kMostNumber)); };
    build.built = {.registers = number("registers"),
                   .shared_memory = number("shared_memory"),
                   .spill_bytes = number("spill_bytes"),
                   .looped_spills = number("looped_spills")};
    build.mix = {.all = fields.counts("instructions"),
                 .in_loops = fields.counts("in_loops"),
                 .unknown = number("unknown")};
  }
  if (!fields.ok()) return {};
  return build;
}

Records<TunedPlan> decode_plans(std::string_view bytes) { return decode_plans(bytes, {}); }

Records<TunedPlan> decode_plans(std::string_view bytes, std::string_view with) {
  return decode_all<TunedPlan>(bytes, with, decode_plan);
}

Records<TunedTiming> decode_timings(std::string_view bytes, std::string_view with) {
  return decode_all<TunedTiming>(bytes, with, decode_timing);
}

Records<TunedBuild> decode_builds(std::string_view bytes, std::string_view with) {
  return decode_all<TunedBuild>(bytes, with, decode_build);
}

std::vector<TunedPlan> merge(const std::vector<TunedPlan>& plans) {
  std::vector<TunedPlan> merged;
  for (const TunedPlan& plan : plans) {
    const auto same = std::ranges::find_if(merged, [&](const TunedPlan& other) {
      return other.key == plan.key && other.problem == plan.problem;
    });
    if (same == merged.end()) {
      merged.push_back(plan);
    } else if (replaces(plan, *same)) {
      *same = plan;
    }
  }
  return merged;
}

const TunedPlan* choose_tuned(const std::vector<TunedPlan>& plans, const TuneKey& key) {
  const TunedPlan* chosen = nullptr;
  for (const TunedPlan& plan : plans)
    if (plan.key == key && (chosen == nullptr || replaces(plan, *chosen))) chosen = &plan;
  return chosen;
}

const TunedPlan* choose_first_tuned(const std::vector<TunedPlan>& plans, const std::vector<TuneKey>& keys) {
  for (const TuneKey& key : keys)
    if (const TunedPlan* const chosen = choose_tuned(plans, key)) return chosen;
  return nullptr;
}

std::vector<TunedTiming> last_of_each(const std::vector<TunedTiming>& timings, const TuneKey& key,
                                      std::string_view problem) {
  std::vector<TunedTiming> last;
  for (const TunedTiming& timing : timings) {
    if (timing.key != key || timing.problem != problem) continue;
    std::erase_if(last, [&](const TunedTiming& earlier) { return earlier.plan == timing.plan; });
    last.push_back(timing);
  }
  return last;
}

}  // namespace fa
