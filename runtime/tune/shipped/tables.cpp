#include "runtime/tune/shipped/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/target/target.h"
#include "runtime/system/files.h"
#include "runtime/system/options.h"

namespace fa {
namespace {

/// Calls `take` with the file's name and its text, where the GPU has a table.
void with_text(std::string_view gpu, std::string& problem, const auto& take) {
  const std::string name = table_name(gpu);
  const std::string& folder = environment().shipped_dir;
  if (folder.empty()) {
    const auto tables = embedded_tables();
    const auto table = std::ranges::find(tables, name, &EmbeddedTable::path);
    if (table != tables.end()) take("tuned/" + name, table->text);
    return;
  }
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    problem = fmt::format("{}: is no folder of tables (FA_SHIPPED_DIR)", folder);
    return;
  }
  const std::string path = folder + "/" + name;
  if (!std::filesystem::exists(path, error)) return;
  if (const std::optional<std::string> text = read_whole_file(path, problem)) {
    problem.clear();
    take(path, *text);
  } else {
    problem = fmt::format("{}: {} (FA_SHIPPED_DIR)", path, problem);
  }
}

}  // namespace

std::string table_name(std::string_view gpu) { return fmt::format("{}.jsonl", gpu); }

ShippedTable read_table(std::string_view text, std::string_view gpu, const std::string& file,
                        std::string_view with) {
  ShippedTable table;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!with.empty() && line.find(with) == std::string_view::npos) continue;
    std::string problem;
    if (std::optional<ShippedPlan> plan = decode_shipped(line, gpu, problem)) {
      table.plans.push_back(std::move(*plan));
    } else {
      table.problems.push_back(fmt::format("{}:{}: {}", file, number, problem));
    }
  }
  return table;
}

std::vector<TunedPlan> shipped_plans(std::string_view gpu, const std::string& spec, std::string& problem) {
  std::vector<TunedPlan> plans;
  const auto take_from = [&](std::string_view table) {
    with_text(table, problem, [&](const std::string& file, std::string_view text) {
      for (ShippedPlan& plan : read_table(text, gpu, file, spec).plans)
        if (plan.tuned.key.spec == spec) plans.push_back(std::move(plan.tuned));
    });
  };
  take_from(gpu);
  if (plans.empty() && problem.empty() && !find_target(gpu).computes_as.empty())
    take_from(find_target(gpu).computes_as);
  return plans;
}

ShippedTable shipped_table(std::string_view gpu) {
  ShippedTable table;
  std::string problem;
  with_text(gpu, problem,
            [&](const std::string& file, std::string_view text) { table = read_table(text, gpu, file); });
  if (!problem.empty()) table.problems.push_back(problem);
  return table;
}

}  // namespace fa
