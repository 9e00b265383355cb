#include "tools/tune/stored.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/build/device_target.h"
#include "runtime/system/files.h"
#include "runtime/system/output.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/shipped/tables.h"
#include "tools/command/commands.h"
#include "tools/console/report.h"
#include "tools/console/text.h"
#include "tools/tune/report.h"

namespace fa::tools {
namespace {

std::vector<std::string> hashes_of(const std::vector<Spec>& specs) {
  std::vector<std::string> hashes;
  for (const Spec& spec : specs) hashes.push_back(spec_hash(spec));
  return hashes;
}

std::string describe_junk(int junk) {
  return fmt::format("{} of its lines could not be read and {} skipped", junk, junk == 1 ? "is" : "are");
}

/// The store's plans, of these specs alone where there are some. Says what is wrong with the store.
StoredPlans stored_plans(const PlanStore& store, const std::vector<Spec>& specs) {
  StoredPlans stored = store.list();
  const std::vector<std::string> hashes = hashes_of(specs);
  if (!hashes.empty()) {
    std::erase_if(stored.plans, [&](const TunedPlan& plan) {
      return std::ranges::find(hashes, plan.key.spec) == hashes.end();
    });
  }
  if (!stored.problem.empty()) report_warning(stored.problem);
  if (stored.junk > 0) report_warning(fmt::format("{}: {}", store.folder(), describe_junk(stored.junk)));
  return stored;
}

/// What ships for these GPUs, of these specs alone where there are some.
ShippedTable shipped_of(const std::vector<const Target*>& targets, const std::vector<Spec>& specs) {
  ShippedTable all;
  const std::vector<std::string> hashes = hashes_of(specs);
  for (const Target* const target : targets) {
    ShippedTable table = shipped_table(target->name);
    for (ShippedPlan& plan : table.plans)
      if (hashes.empty() || std::ranges::find(hashes, plan.tuned.key.spec) != hashes.end())
        all.plans.push_back(std::move(plan));
    for (std::string& problem : table.problems)  // one of the folder is said once
      if (std::ranges::find(all.problems, problem) == all.problems.end())
        all.problems.push_back(std::move(problem));
  }
  return all;
}

std::vector<const Target*> gpus_named(const std::vector<std::string>& names) {
  std::vector<const Target*> targets;
  for (const std::string& name : names) targets.push_back(&check_gpu_target(name));
  if (names.empty())
    for (const Target& target : all_targets())
      if (!target.is_host()) targets.push_back(&target);
  return targets;
}

void print_plan(const TunedPlan& plan) {
  const std::string shipped =
      plan.shipped.empty() ? std::string() : fmt::format(", commit {}", plan.shipped.substr(0, 12));
  fmt::print("{:%Y-%m-%d}  {}  {}  {}{}\n            {}: {}\n            {}, {}{}\n",
             fmt::gmtime(static_cast<std::time_t>(plan.date)), plan.label, plan.problem,
             plan.predicted ? "predicted " : "", print_milliseconds(plan.ms), plan.plan, print_gain(plan),
             plan.key.device, plan.key.compiler, shipped);
}

/// "3 plans ship with this Facet" and what is to be said of them, where there are some.
std::string describe_shipped(const std::vector<Spec>& specs, std::string_view how) {
  const std::size_t count = shipped_of(gpus_named({}), specs).plans.size();
  if (count == 0) return {};
  return fmt::format("{} {} with this Facet{}\n", count, count == 1 ? "plan ships" : "plans ship", how);
}

int kept(const std::string& problem) {
  if (problem.empty()) return kOk;
  report_error("not kept: " + problem);
  return kFailed;
}

}  // namespace

int list_shipped(const std::vector<std::string>& gpus, const std::vector<Spec>& specs,
                 const JsonOption& json) {
  const ShippedTable shipped = shipped_of(gpus_named(gpus), specs);
  for (const std::string& problem : shipped.problems) report_warning(problem);
  nlohmann::json plans = nlohmann::json::array();
  for (const ShippedPlan& plan : shipped.plans) plans.push_back(nlohmann::json::parse(encode(plan)));
  json.write({{"shipped", plans}, {"problems", shipped.problems}});
  if (json.shows_text()) {
    for (const ShippedPlan& plan : shipped.plans) print_plan(plan.tuned);
    if (shipped.plans.empty()) fmt::print("no plans ship with this Facet for what was asked\n");
    if (!gpus.empty())
      for (const Target* const target : gpus_named(gpus))
        if (!target->computes_as.empty())
          fmt::print("where no plan ships for {0}, those of {1} count: --list --shipped --gpu {1}\n",
                     target->name, target->computes_as);
  }
  return shipped.problems.empty() ? kOk : kFailed;
}

int list_plans(const PlanStore& store, const std::vector<Spec>& specs, const JsonOption& json) {
  const StoredPlans stored = stored_plans(store, specs);
  nlohmann::json plans = nlohmann::json::array();
  for (const TunedPlan& plan : stored.plans) plans.push_back(plan_json(plan));
  json.write(
      {{"folder", store.folder()}, {"plans", plans}, {"junk", stored.junk}, {"problem", stored.problem}});
  if (json.shows_text()) {
    for (const TunedPlan& plan : stored.plans) print_plan(plan);
    if (stored.plans.empty()) fmt::print("no plans in {}\n", store.folder());
    fmt::print("{}", describe_shipped(specs, ": facet tune --list --shipped"));
  }
  return stored.problem.empty() ? kOk : kFailed;
}

int forget_plans(const PlanStore& store, const std::vector<Spec>& specs, const JsonOption& json) {
  int dropped = 0;
  const std::string problem = store.forget(hashes_of(specs), dropped);
  json.write({{"forgotten", dropped}, {"problem", problem}});
  if (json.shows_text() && problem.empty())
    fmt::print("forgot {} {}\n{}", dropped, dropped == 1 ? "plan" : "plans",
               describe_shipped(specs, ", which stay: FA_TUNE=never leaves them out"));
  return kept(problem);
}

int export_plans(const PlanStore& store, const std::vector<Spec>& specs, const std::string& file,
                 const JsonOption& json) {
  const StoredPlans stored = stored_plans(store, specs);
  std::string lines;
  for (const TunedPlan& plan : stored.plans) lines += encode(plan) + "\n";
  write_output(file == "-" ? "/dev/stdout" : file, lines);
  json.write({{"exported", stored.plans.size()}, {"file", file}});
  if (json.shows_text() && file != "-")
    fmt::print("exported {} {} to {}\n", stored.plans.size(), stored.plans.size() == 1 ? "plan" : "plans",
               file);
  return stored.problem.empty() ? kOk : kFailed;
}

int import_plans(const PlanStore& store, const std::string& file, const JsonOption& json) {
  constexpr std::uintmax_t kMostBytes = 64 << 20;  // a hundred thousand plans
  std::error_code error;
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
    throw ArgumentError(fmt::format("{}: is no regular file, as `facet tune --export` writes", file));
  if (const std::uintmax_t size = std::filesystem::file_size(file, error); !error && size > kMostBytes)
    throw ArgumentError(
        fmt::format("{}: has {} bytes, more than the {} that tuned plans may take", file, size, kMostBytes));
  std::string problem;
  const std::optional<std::string> bytes = read_whole_file(file, problem);
  if (!bytes) throw ArgumentError(fmt::format("{}: {}", file, problem));
  const Records<TunedPlan> found = decode_plans(*bytes);
  if (found.records.empty() && !bytes->empty())
    throw ArgumentError(fmt::format("{}: it holds no tuned plans, which `facet tune --export` writes", file));
  if (found.junk > 0) report_warning(fmt::format("{}: {}", file, describe_junk(found.junk)));
  problem = store.keep(found.records);
  json.write(
      {{"imported", problem.empty() ? found.records.size() : 0}, {"junk", found.junk}, {"problem", problem}});
  if (json.shows_text() && problem.empty())
    fmt::print("imported {} {}\n", found.records.size(), found.records.size() == 1 ? "plan" : "plans");
  return kept(problem);
}

}  // namespace fa::tools
