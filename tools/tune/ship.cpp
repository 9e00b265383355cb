#include "tools/tune/ship.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "compiler/analysis/mask_tensors.h"
#include "runtime/system/files.h"
#include "runtime/system/options.h"
#include "runtime/system/output.h"
#include "runtime/tune/shipped/tables.h"
#include "tools/console/version.h"

namespace fa::tools {
namespace {

auto kernel_of(const ShippedPlan& plan) {
  return std::tuple(plan.spec, dtype_name(plan.dtype), plan.head_dim, plan.head_dim_v);
}

auto size_of(const ShippedPlan& plan) {
  const ProblemSize size = plan.tuned.size.value_or(ProblemSize{});
  return std::tuple(size.batch, size.num_q_heads, size.num_kv_heads, size.q_len, size.kv_len);
}

/// Whether a line gives way to what was found.
bool yields(const ShippedPlan& line, const ShippedPlan& found) {
  if (kernel_of(line) != kernel_of(found)) return false;
  if (line.tuned.key.spec != found.tuned.key.spec) return true;  // the spec has changed since
  return size_of(line) == size_of(found);
}

/// Whether a measured line is there, which no prediction replaces.
bool is_measured(const std::vector<ShippedPlan>& table, const ShippedPlan& found) {
  return std::ranges::any_of(table, [&](const ShippedPlan& line) {
    return !line.tuned.predicted && line.tuned.key.spec == found.tuned.key.spec && yields(line, found);
  });
}

/// The line that says: the compiler's own choice is not to be replaced here.
ShippedPlan with_default(ShippedPlan plan) {
  plan.tuned.plan = plan.tuned.default_plan;
  plan.tuned.ms *= plan.tuned.gain;
  plan.tuned.gain = 1;
  return plan;
}

}  // namespace

bool is_worth_shipping(const TunedPlan& found) {
  return found.gain > kLeastShippedGain && found.plan != found.default_plan;
}

std::vector<ShippedPlan> merge_shipped(std::vector<ShippedPlan> table,
                                       const std::vector<ShippedPlan>& found) {
  for (const ShippedPlan& plan : found) {
    if (plan.tuned.predicted && is_measured(table, plan)) continue;
    std::erase_if(table, [&](const ShippedPlan& line) { return yields(line, plan); });
    table.push_back(is_worth_shipping(plan.tuned) ? plan : with_default(plan));
  }
  const std::vector<ShippedPlan> all = table;
  std::erase_if(table, [&](const ShippedPlan& line) {
    return std::ranges::none_of(all, [&](const ShippedPlan& other) {
      return kernel_of(other) == kernel_of(line) && is_worth_shipping(other.tuned);
    });
  });
  std::ranges::stable_sort(table, [](const ShippedPlan& a, const ShippedPlan& b) {
    return std::tuple_cat(kernel_of(a), size_of(a)) < std::tuple_cat(kernel_of(b), size_of(b));
  });
  return table;
}

std::string print_table(const std::vector<ShippedPlan>& table) {
  std::string text;
  for (const ShippedPlan& plan : table) text += encode(plan) + "\n";
  return text;
}

std::string why_unclean() {
  constexpr std::size_t kHash = 40;
  const std::string commit = source_commit();
  if (commit.empty()) return "this facet was built outside a git checkout, so that it knows no commit";
  if (commit.size() > kHash)
    return fmt::format("this facet was built from files that differ from its commit {}",
                       commit.substr(0, kHash));
  if (!environment().template_dir.empty()) return "FA_TEMPLATE_DIR names other templates";
  if (!environment().nvrtc_flags.empty()) return "FA_NVRTC_FLAGS names other flags";
  return {};
}

std::string ShippingFolder::path_of(const Target& target) const {
  return (std::filesystem::path(folder_) / table_name(target.name)).string();
}

std::vector<ShippedPlan> ShippingFolder::read(const Target& target) const {
  const std::string path = path_of(target);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  std::string problem;
  const std::optional<std::string> text = read_whole_file(path, problem);
  if (!text) throw ArgumentError(fmt::format("{}: {}", path, problem));
  ShippedTable table = read_table(*text, target.name, path);
  if (!table.problems.empty())
    throw ArgumentError(fmt::format("{}: mend the line, or delete it, before --ship adds to the table",
                                    table.problems.front()));
  return std::move(table.plans);
}

void ShippingFolder::check(const Target& target) const {
  if (target.is_host())
    throw ArgumentError("--ship: tables are for GPUs, and --device host tunes for this CPU: leave out one");
  if (std::ranges::find(all_targets(), target.name, &Target::name) == all_targets().end())
    throw ArgumentError(
        fmt::format("--ship: a table is found by the GPU's name, and {} ({}) is none of `facet explain "
                    "--gpu`: it takes a literal in compiler/target/target.cpp first",
                    target.name, target.description));
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw Error(fmt::format("{}: cannot be made: {}", folder_, error.message()));
  check_output(path_of(target));
  read(target);
}

std::string ShippingFolder::add(const CheckedSpec& spec, const Target& target, const TunedPlan& found) {
  const std::string path = path_of(target);
  if (const std::vector<std::string> tensors = mask_tensors(spec, lower(spec)); !tensors.empty())
    return fmt::format(
        "not in {}: the mask reads {}, and other contents may want another plan; it is kept for this machine",
        path, fmt::join(tensors, ", "));
  const std::vector<ShippedPlan> before = read(target);
  const std::string commit = source_commit();
  std::vector<ShippedPlan>& of_run = found_[std::string(target.name)];
  const ShippedPlan plan = shipped_plan(spec, found, commit.empty() ? "unknown" : commit);
  of_run.push_back(plan);
  const std::vector<ShippedPlan> after = merge_shipped(before, of_run);
  const std::string text = print_table(after);
  if (text != print_table(before)) write_output(path, text);
  if (is_worth_shipping(found))
    return std::ranges::find(after, plan) != after.end()
               ? fmt::format("in {}", path)
               : fmt::format("not in {}, which has a measured plan for this size", path);
  const std::string why = fmt::format("no plan beats the compiler's own choice by more than {:.0f}%",
                                      100 * (kLeastShippedGain - 1));
  return std::ranges::find(after, with_default(plan)) != after.end()
             ? fmt::format("in {} as a bound of other sizes: {}", path, why)
             : fmt::format("not in {}: {}", path, why);
}

}  // namespace fa::tools
