// facet cache: prints what the disk cache of built kernels holds, and empties it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/store/cache.h"
#include "runtime/system/options.h"
#include "tools/command/commands.h"
#include "tools/command/json_option.h"
#include "tools/command/validators.h"
#include "tools/console/report.h"
#include "tools/console/text.h"
#include "tools/problem/describe.h"

namespace fa::tools {

namespace {

constexpr const char* kCacheFooter = R"help(
Kernels are kept by content (source, flags, arch, compiler version), so nothing in here is ever out of date; the oldest
unused entries go when the limit of FA_CACHE_SIZE is reached. An entry that is damaged, or that somebody else may have written, counts as absent.
The folder is FA_CACHE_DIR, else $XDG_CACHE_HOME/facet, else ~/.cache/facet.

Examples:
  facet cache
  facet cache list --json
  rm -rf "$(facet cache path)"      # the same as: facet cache clear)help";

struct CacheArguments {
  std::string what = "stats";
  JsonOption json;
};

std::string print_date(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(seconds)));
}

int show_stats(const DiskCache& cache, const JsonOption& json) {
  const CacheStats stats = cache.stats();
  const auto unusable =
      std::ranges::count_if(cache.list(), [](const CacheFile& file) { return !file.problem.empty(); });
  json.write({{"folder", stats.folder},
              {"entries", stats.entries},
              {"bytes", stats.bytes},
              {"limit", stats.limit},
              {"unusable", unusable},
              {"problem", stats.problem}});
  if (!json.shows_text()) return kOk;
  fmt::print("folder   {}\n", stats.folder.empty() ? "none" : stats.folder);
  fmt::print(
      "entries  {}{}\n", stats.entries,
      unusable == 0 ? "" : fmt::format(", {} of them of no use: `facet cache list` says why", unusable));
  fmt::print("size     {} of {}\n", print_bytes(static_cast<double>(stats.bytes)),
             print_bytes(static_cast<double>(stats.limit)));
  if (!stats.problem.empty()) fmt::print("problem  {}\n", stats.problem);
  return kOk;
}

int show_list(const DiskCache& cache, const JsonOption& json) {
  const auto files = cache.list();
  nlohmann::json report = nlohmann::json::array();
  for (const auto& file : files)
    report.push_back({{"key", file.key},
                      {"label", file.label},
                      {"bytes", file.bytes},
                      {"last_used", file.last_used},
                      {"problem", file.problem}});
  json.write(report);
  if (!json.shows_text()) return kOk;
  for (const auto& file : files)
    fmt::print("{}  {}  {:>10}  {}\n", file.key, print_date(file.last_used),
               print_bytes(static_cast<double>(file.bytes)),
               file.problem.empty() ? file.label : fmt::format("({})", file.problem));
  return kOk;
}

int show_path(const DiskCache& cache, const JsonOption& json) {
  json.write({{"folder", cache.folder()}});
  if (json.shows_text()) fmt::print("{}\n", cache.folder());
  return cache.folder().empty() ? kFailed : kOk;
}

int clear(const DiskCache& cache, const JsonOption& json) {
  const int removed = cache.clear();
  json.write({{"removed", removed}});
  if (json.shows_text()) fmt::print("removed {} {}\n", removed, removed == 1 ? "entry" : "entries");
  const auto left = cache.stats().entries;
  if (left != 0)
    report_error(fmt::format("{} could not be removed: `facet cache list` names what is left", left));
  return left == 0 ? kOk : kFailed;
}

int run_cache(const CacheArguments& arguments) {
  const DiskCache cache = open_cache(environment().cache_dir);
  if (arguments.what == "list") return show_list(cache, arguments.json);
  if (arguments.what == "path") return show_path(cache, arguments.json);
  if (arguments.what == "clear") return clear(cache, arguments.json);
  return show_stats(cache, arguments.json);
}

}  // namespace

void add_cache_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CacheArguments>();
  CLI::App* const command = app.add_subcommand("cache", "Show or empty the disk cache of built kernels");
  command->footer(kCacheFooter);
  command->add_option("WHAT", arguments->what, "stats, list, clear or path [stats]")
      ->check(one_of({kCacheWords.begin(), kCacheWords.end()}))
      ->type_name("WORD");
  arguments->json.declare(*command, "the same");
  command->callback([arguments, &action] { action = [arguments] { return run_cache(*arguments); }; });
}

}  // namespace fa::tools
