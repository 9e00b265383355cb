#include "runtime/tune/plan_store.h"

#include <algorithm>

#include "runtime/system/options.h"

namespace fa {
namespace {

constexpr std::size_t kMostBytes = std::size_t{8} << 20;  // of one file; then the older half goes

std::string bytes_of(const std::vector<TunedPlan>& plans) {
  std::string bytes;
  for (const TunedPlan& plan : plans) bytes += encode(plan) + "\n";
  return bytes;
}

/// The last lines of a file, about `most` bytes.
std::string newest(std::string_view bytes, std::size_t most) {
  if (bytes.size() <= most) return std::string(bytes);
  const std::size_t begin = bytes.find('\n', bytes.size() - most);
  return begin == std::string_view::npos ? std::string() : std::string(bytes.substr(begin + 1));
}

std::string add(const LineFile& file, const std::string& line) {
  if (file.bytes() > kMostBytes)
    file.update([](std::string_view bytes) { return newest(bytes, kMostBytes / 2); });
  return file.append(line);
}

bool is_one_of(const std::vector<std::string>& specs, const std::string& spec) {
  return specs.empty() || std::ranges::find(specs, spec) != specs.end();
}

template <class Record>
std::string lines_of_others(const std::vector<Record>& records, const std::vector<std::string>& specs) {
  std::string left;
  for (const Record& record : records)
    if (!is_one_of(specs, record.key.spec)) left += encode(record) + "\n";
  return left;
}

}  // namespace

PlanStore::PlanStore(const std::string& folder, bool shared)
    : folder_(folder),
      plans_(folder, "plans.jsonl", shared),
      timings_(folder, "timings.jsonl", shared),
      builds_(folder, "builds.jsonl", shared) {}

std::vector<TunedPlan> PlanStore::of_spec(const std::string& spec, std::string& problem) const {
  const std::optional<std::string> bytes = plans_.read(problem);
  if (!bytes || bytes->empty()) return {};
  std::vector<TunedPlan> plans = decode_plans(*bytes, spec).records;  // lines that hold it, wherever
  std::erase_if(plans, [&](const TunedPlan& plan) { return plan.key.spec != spec; });
  return plans;
}

std::vector<TunedPlan> PlanStore::find(const std::vector<TuneKey>& keys, std::string& problem) const {
  if (keys.empty()) return {};
  std::vector<TunedPlan> plans = of_spec(keys.front().spec, problem);
  std::erase_if(plans,
                [&](const TunedPlan& plan) { return std::ranges::find(keys, plan.key) == keys.end(); });
  return plans;
}

std::string PlanStore::keep(const std::vector<TunedPlan>& plans) const {
  return plans_.update([&](std::string_view bytes) {
    std::vector<TunedPlan> all = decode_plans(bytes).records;
    all.insert(all.end(), plans.begin(), plans.end());
    return bytes_of(merge(all));
  });
}

std::string PlanStore::note(const TunedTiming& timing) const { return add(timings_, encode(timing)); }

std::string PlanStore::note(const TunedBuild& build) const { return add(builds_, encode(build)); }

std::vector<TunedTiming> PlanStore::timings(const TuneKey& key, const std::string& problem) const {
  std::string ignored;
  const std::optional<std::string> bytes = timings_.read(ignored);
  if (!bytes) return {};
  return last_of_each(decode_timings(*bytes, key.spec).records, key, problem);
}

std::vector<TunedBuild> PlanStore::builds(const TuneKey& key) const {
  std::string ignored;
  const std::optional<std::string> bytes = builds_.read(ignored);
  if (!bytes) return {};
  std::vector<TunedBuild> found = decode_builds(*bytes, key.spec).records;
  std::erase_if(found, [&](const TunedBuild& build) { return build.key != key; });
  return found;
}

StoredPlans PlanStore::list() const {
  StoredPlans stored;
  if (const std::optional<std::string> bytes = plans_.read(stored.problem)) {
    const auto found = decode_plans(*bytes);
    stored.plans = merge(found.records);
    stored.junk = found.junk;
  }
  return stored;
}

std::string PlanStore::forget(const std::vector<std::string>& specs, int& dropped) const {
  dropped = 0;
  std::string problem = plans_.update([&](std::string_view bytes) {
    std::vector<TunedPlan> all = merge(decode_plans(bytes).records);
    dropped = static_cast<int>(
        std::erase_if(all, [&](const TunedPlan& plan) { return is_one_of(specs, plan.key.spec); }));
    return bytes_of(all);
  });
  if (!problem.empty()) return problem;
  problem = timings_.update(
      [&](std::string_view bytes) { return lines_of_others(decode_timings(bytes, {}).records, specs); });
  // Few stores have predictions: no file is made for them here.
  if (!problem.empty() || builds_.bytes() == 0) return problem;
  return builds_.update(
      [&](std::string_view bytes) { return lines_of_others(decode_builds(bytes, {}).records, specs); });
}

std::string tune_folder(const std::string& cache_dir) {
  if (!environment().tune_dir.empty()) return environment().tune_dir;
  const std::size_t end = cache_dir.find_last_not_of('/');
  return end == std::string::npos ? std::string() : cache_dir.substr(0, end + 1) + "-tuned";
}

PlanStore open_plan_store(const std::string& cache_dir) {
  return PlanStore(tune_folder(cache_dir), environment().cache_shared);
}

}  // namespace fa
