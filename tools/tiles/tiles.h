// The tile classes of a problem: how many tiles are empty, partial and full, what proves it, and what the
// analysis could not see. `facet explain --tiles` prints it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/problem/problem.h"
#include "tools/tiles/mask_probe.h"

namespace fa::tools {

/// A reason, and how many tiles have their class because of it: "distance < 0 for all".
struct TileFact {
  TileClass tile_class = TileClass::empty;
  std::string text;
  std::int64_t tiles = 0;
};

/// A part of the mask that keeps tiles from being skipped.
struct TileBlocker {
  int line = 0, column = 0;
  std::string text;    // the part
  std::string why;     // what it is about it
  std::string remedy;  // how to write it, or what it reads, so that they can be
  std::int64_t tiles = 0;
};

struct TileReport {
  bool has_mask = false;
  std::vector<std::pair<int, int>> looked_at;  // the (b, h) that were counted
  bool for_all = true;                         // they stand for every b and h
  std::array<std::int64_t, 3> counts{};        // by TileClass, over `looked_at`
  std::vector<TileFact> facts;                 // the most tiles first, by class
  std::int64_t partial_checked = 0;            // partial tiles evaluated element by element
  std::int64_t really_empty = 0, really_full = 0;
  std::vector<TileBlocker> blockers;  // of those that are partial, and are not when evaluated
  double share_kept = 0;              // of the elements of partial tiles, by a sample
  /// A hint where most tiles are partial because of few elements: a table places elements that see each other
  /// far apart.
  std::optional<TileBlocker> scattered;
  TileGrid grid;  // of the first (b, h)
  double milliseconds = 0;

  std::int64_t tiles() const { return counts[0] + counts[1] + counts[2]; }
  /// Tiles that are not empty, as a share of all.
  double share_of_work() const;
};

/// `code` is the mask of the problem's spec, where it is compiled already. `on_progress` is called now and
/// then with the share of the tiles that is classified; it may throw.
TileReport report_tiles(const Problem& problem, int tile_q, int tile_kv,
                        std::shared_ptr<const MaskCode> code = nullptr,
                        const std::function<void(double)>& on_progress = {});

void print_tiles(const TileReport& report, const std::string& file, bool colour);
nlohmann::json tiles_json(const TileReport& report, const std::string& file);

}  // namespace fa::tools
