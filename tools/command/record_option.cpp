#include "tools/command/record_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "fa/error.h"
#include "runtime/system/output.h"
#include "tools/measure/benchmark_record.h"
#include "tools/problem/describe.h"

namespace fa::tools {

void RecordOption::declare(CLI::App& app) {
  app.add_option("--record", path_,
                 "Write each line by other benchmarks' names (seq_len, emb_dim, ...) as JSON: to a file as a "
                 "list, to a "
                 "folder, DIR/, a file each")
      ->type_name("PATH")
      ->check([](const std::string& path) {
        return path.empty() ? std::string("the path is empty: name a file, or a folder as DIR/")
                            : std::string();
      });
}

bool RecordOption::is_folder() const {
  std::error_code error;
  return path_.ends_with('/') || std::filesystem::is_directory(path_, error);
}

void RecordOption::check_apart_from(const std::vector<std::string>& others, const std::string& whose) const {
  if (!asked() || is_folder()) return;
  for (const std::string& other : others)
    if (!other.empty() && is_same_output(path_, other))
      throw ArgumentError(fmt::format(
          "--record and {} both name {}: the records would replace it; name another file", whose, path_));
}

void RecordOption::prepare(const std::vector<BenchResult>& planned) const {
  if (!asked()) return;
  if (!is_folder()) {
    check_output(path_);
    return;
  }
  std::set<std::string> names;
  for (const BenchResult& result : planned) {
    const std::string name = benchmark_file_name(result);
    if (!names.insert(name).second)
      throw ArgumentError(fmt::format(
          "--record {}: two results would be {}; name a file instead, which holds a list", path_, name));
  }
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) throw Error(fmt::format("{}: cannot be made: {}", path_, error.message()));
}

void RecordOption::write(const std::vector<BenchResult>& results, std::optional<bool> is_causal) const {
  if (!is_folder()) {
    nlohmann::json list = nlohmann::json::array();
    for (const BenchResult& result : results) list.push_back(benchmark_record(result, is_causal));
    write_output(path_, json_text(list));
    return;
  }
  for (const BenchResult& result : results)
    write_output(std::filesystem::path(path_) / benchmark_file_name(result),
                 json_text(benchmark_record(result, is_causal)));
}

}  // namespace fa::tools
