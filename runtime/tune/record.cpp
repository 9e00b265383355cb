#include "runtime/tune/record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

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

/// Reads the fields of one line; `ok` is false once one is missing or of another type.
class Fields {
 public:
  explicit Fields(std::string_view line) : json_(json::parse(line, nullptr, /*allow_exceptions=*/false)) {
    ok_ = json_.is_object() && number("format") == kFormat;
  }

  std::string text(const char* name) {
    const json* const value = field(name);
    if (value == nullptr || !value->is_string()) return fail<std::string>();
    return value->get<std::string>();
  }
  double number(const char* name) {
    const json* const value = field(name);
    if (value == nullptr || !value->is_number()) return fail<double>();
    return value->get<double>();
  }
  double positive(const char* name) {
    const double value = number(name);
    return std::isfinite(value) && value > 0 ? value : fail<double>();
  }
  /// A whole number from 0 on.
  std::int64_t count(const char* name, std::int64_t most) {
    const double value = number(name);
    if (!(value >= 0 && value <= static_cast<double>(most)) || value != std::floor(value))
      return fail<std::int64_t>();
    return static_cast<std::int64_t>(value);
  }
  bool flag(const char* name) {
    const json* const value = field(name);
    if (value == nullptr || !value->is_boolean()) return fail<bool>();
    return value->get<bool>();
  }
  TuneKey key() {
    return {
        .spec = text("spec"), .code = text("code"), .device = text("device"), .compiler = text("compiler")};
  }
  bool ok() const { return ok_; }

 private:
  const json* field(const char* name) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  template <class T>
  T fail() {
    ok_ = false;
    return T();
  }

  json json_;
  bool ok_ = false;
};

constexpr std::int64_t kMostPlans = std::numeric_limits<int>::max();
constexpr std::int64_t kLastDate = std::int64_t{1} << 40;  // seconds

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

std::optional<TunedPlan> decode_plan(std::string_view line) {
  Fields fields(line);
  TunedPlan plan{.key = fields.key(),
                 .label = fields.text("label"),
                 .problem = fields.text("problem"),
                 .plan = fields.text("plan"),
                 .ms = fields.positive("ms"),
                 .gain = fields.positive("gain"),
                 .default_plan = fields.text("default_plan"),
                 .timed = static_cast<int>(fields.count("timed", kMostPlans)),
                 .of = static_cast<int>(fields.count("of", kMostPlans)),
                 .finished = fields.flag("finished"),
                 .date = fields.count("date", kLastDate)};
  if (!fields.ok()) return {};
  return plan;
}

std::optional<TunedTiming> decode_timing(std::string_view line) {
  Fields fields(line);
  const bool failed = fields.flag("failed");
  TunedTiming timing{.key = fields.key(),
                     .problem = fields.text("problem"),
                     .plan = fields.text("plan"),
                     .runs = static_cast<int>(fields.count("runs", kMostPlans)),
                     .ratio = failed ? 1 : fields.positive("ratio"),
                     .ms = failed ? 0 : fields.positive("ms"),
                     .failed = failed};
  if (!fields.ok()) return {};
  return timing;
}

Records<TunedPlan> decode_plans(std::string_view bytes) { return decode_plans(bytes, {}); }

Records<TunedPlan> decode_plans(std::string_view bytes, std::string_view with) {
  return decode_all<TunedPlan>(bytes, with, decode_plan);
}

Records<TunedTiming> decode_timings(std::string_view bytes, std::string_view with) {
  return decode_all<TunedTiming>(bytes, with, decode_timing);
}

std::vector<TunedPlan> merge(const std::vector<TunedPlan>& plans) {
  std::vector<TunedPlan> merged;
  for (const TunedPlan& plan : plans) {
    const auto same = std::ranges::find_if(merged, [&](const TunedPlan& other) {
      return other.key == plan.key && other.problem == plan.problem;
    });
    if (same == merged.end()) {
      merged.push_back(plan);
    } else if (plan.date >= same->date) {
      *same = plan;
    }
  }
  return merged;
}

const TunedPlan* choose_tuned(const std::vector<TunedPlan>& plans, const TuneKey& key) {
  const TunedPlan* chosen = nullptr;
  for (const TunedPlan& plan : plans)
    if (plan.key == key && (chosen == nullptr || plan.date >= chosen->date)) chosen = &plan;
  return chosen;
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
