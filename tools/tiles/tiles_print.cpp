// Prints the tile report: as text for people, and as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/console/text.h"
#include "tools/tiles/tile_map.h"
#include "tools/tiles/tiles.h"

namespace fa::tools {

namespace {

constexpr int kMapWidth = 64, kMapHeight = 32;
constexpr std::size_t kMostFacts = 4;     // of one class
constexpr std::size_t kMostBlockers = 4;  // the rest is counted

std::string_view class_name(TileClass tile_class) {
  constexpr std::string_view kNames[] = {"empty", "partial", "full"};
  return kNames[static_cast<std::size_t>(tile_class)];
}

std::string describe_heads(const TileReport& report) {
  if (report.looked_at.size() == 1 && report.for_all) return "the same for every b and h";
  if (report.for_all)
    return fmt::format("over all {} pairs of b and h that the mask tells apart", report.looked_at.size());
  std::vector<std::string> pairs;
  for (const auto& [b, h] : report.looked_at) {
    if (pairs.size() == 4) {
      pairs.emplace_back("...");
      break;
    }
    pairs.push_back(fmt::format("({}, {})", b, h));
  }
  return fmt::format("over {} pairs (b, h), evenly spread: {}", report.looked_at.size(),
                     fmt::join(pairs, ", "));
}

void print_class(const TileReport& report, TileClass tile_class, std::string_view what) {
  const std::int64_t count = report.counts[static_cast<std::size_t>(tile_class)];
  fmt::print(
      "  {:<8} {:>13} {:>6.2f}%  {}\n", class_name(tile_class), with_commas(count),
      report.tiles() == 0 ? 0.0 : 100.0 * static_cast<double>(count) / static_cast<double>(report.tiles()),
      what);
  std::size_t shown = 0;
  std::int64_t left = 0;
  for (const TileFact& fact : report.facts) {
    if (fact.tile_class != tile_class) continue;
    if (shown < kMostFacts)
      fmt::print("  {:>22}          because {}\n", with_commas(fact.tiles), fact.text);
    else
      left += fact.tiles;
    ++shown;
  }
  if (left > 0) fmt::print("  {:>22}          for {} other reasons\n", with_commas(left), shown - kMostFacts);
}

void print_precision(const TileReport& report, const std::string& file) {
  const std::int64_t missed = report.really_empty + report.really_full;
  if (report.partial_checked == 0) return;
  if (missed == 0) {
    const std::int64_t partial = report.counts[static_cast<std::size_t>(TileClass::partial)];
    if (report.partial_checked == partial)
      fmt::print("  precision  exact: each of {} partial tiles keeps one element and drops another\n",
                 with_commas(partial));
    else
      fmt::print(
          "  precision  no tile missed: each of {} partial tiles evaluated keeps one element and drops "
          "another\n",
          with_commas(report.partial_checked));
    return;
  }
  fmt::print("  precision  of {} partial tiles evaluated, {} keep nothing and {} keep everything\n",
             with_commas(report.partial_checked), with_commas(report.really_empty),
             with_commas(report.really_full));
  for (std::size_t i = 0; i < std::min(report.blockers.size(), kMostBlockers); ++i) {
    const TileBlocker& blocker = report.blockers[i];
    fmt::print("    {}:{}:{}: `{}` in {} of them: {}\n", file, blocker.line, blocker.column, blocker.text,
               with_commas(blocker.tiles), blocker.why);
    fmt::print("      help: {}\n", blocker.remedy);
  }
  if (report.blockers.size() > kMostBlockers)
    fmt::print("    and {} other parts\n", report.blockers.size() - kMostBlockers);
}

}  // namespace

void print_tiles(const TileReport& report, const std::string& file, bool colour) {
  const TileGrid& grid = report.grid;
  fmt::print("\n{}\n", styled(fmt::format("tiles of {} x {}: q_len {}, kv_len {}, {}", grid.tile_q,
                                          grid.tile_kv, grid.q_len, grid.kv_len, describe_heads(report)),
                              Style::cyan, colour));
  if (!report.has_mask) fmt::print("  no mask: every tile is full\n");
  print_class(report, TileClass::empty, "never loaded");
  print_class(report, TileClass::full, "computed without the mask");
  print_class(report, TileClass::partial, "computed with the mask");
  fmt::print("  work     {:>20.2f}%  of the dense tiles\n", 100 * report.share_of_work());
  print_precision(report, file);
  if (report.scattered) {
    const TileBlocker& blocker = *report.scattered;
    fmt::print("  density    partial tiles keep {:.1f}% of their elements\n", 100 * report.share_kept);
    fmt::print("    {}:{}:{}: `{}`: {}\n      help: {}\n", file, blocker.line, blocker.column, blocker.text,
               blocker.why, blocker.remedy);
  }

  const auto [rows, columns] = tile_map_cell(grid, kMapWidth, kMapHeight);
  const auto [b, h] = report.looked_at.front();
  const bool one_to_one = rows == 1 && columns == 1;
  fmt::print(
      "\n{}\n",
      styled(fmt::format("map of b = {}, h = {}: q_idx down, kv_idx right, {}; · empty  {}  █ full", b, h,
                         one_to_one ? "a character is a tile"
                                    : fmt::format("a character is {} x {} tiles", rows, columns),
                         one_to_one ? "▒ partial" : "▒ partial or mixed"),
             Style::cyan, colour));
  const std::string map = tile_map_text(grid, kMapWidth, kMapHeight);
  for (std::size_t at = 0; at < map.size();) {
    const auto end = map.find('\n', at);
    fmt::print("  {}\n", map.substr(at, end - at));
    at = end + 1;
  }
}

nlohmann::json tiles_json(const TileReport& report, const std::string& file) {
  nlohmann::json facts = nlohmann::json::array();
  for (const TileFact& fact : report.facts)
    facts.push_back({{"class", class_name(fact.tile_class)}, {"because", fact.text}, {"tiles", fact.tiles}});
  const auto part = [&](const TileBlocker& blocker) -> nlohmann::json {
    return {{"file", file},          {"line", blocker.line}, {"column", blocker.column},
            {"part", blocker.text},  {"why", blocker.why},   {"remedy", blocker.remedy},
            {"tiles", blocker.tiles}};
  };
  nlohmann::json blockers = nlohmann::json::array();
  for (const TileBlocker& blocker : report.blockers) blockers.push_back(part(blocker));
  nlohmann::json heads = nlohmann::json::array();
  for (const auto& [b, h] : report.looked_at) heads.push_back({{"b", b}, {"h", h}});
  return {{"tiles", {{"empty", report.counts[0]}, {"partial", report.counts[1]}, {"full", report.counts[2]}}},
          {"tile_q", report.grid.tile_q},
          {"tile_kv", report.grid.tile_kv},
          {"share_of_work", report.share_of_work()},
          {"counted", heads},
          {"counted_stand_for_all", report.for_all},
          {"facts", facts},
          {"partial_evaluated", report.partial_checked},
          {"partial_but_empty", report.really_empty},
          {"partial_but_full", report.really_full},
          {"blockers", blockers},
          {"share_kept_of_partial", report.share_kept},
          {"scattered", report.scattered ? part(*report.scattered) : nlohmann::json()},
          {"classify_ms", report.milliseconds}};
}

}  // namespace fa::tools
