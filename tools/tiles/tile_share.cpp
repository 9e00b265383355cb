// Counts by the classes that a kernel's walk uses.
#include "tools/tiles/tile_share.h"

#include <algorithm>

#include "tools/tiles/mask_probe.h"

namespace fa::tools {

namespace {

// The most that is counted: about a tenth of a second. A class by parts and elements takes longer than one by
// bounds.
constexpr std::int64_t kMostTiles = 1'000'000;
constexpr std::int64_t kMostTilesByParts = 300'000;  // 16 x 16 at N = 8192
constexpr std::int64_t kMostFilled = 1 << 24;        // of captured tensors, which are filled first

}  // namespace

std::optional<double> share_of_tiles(const Spec& spec, const ProblemInputs& inputs, int tile_q, int tile_kv) {
  if (!spec.checked().has_mask_mod()) return 1;
  if (!tensors_fit(spec, inputs, kMostFilled)) return std::nullopt;
  const auto along = [](int length, int tile) { return (std::int64_t{length} + tile - 1) / tile; };
  const std::int64_t tiles = along(inputs.size.q_len, tile_q) * along(inputs.size.kv_len, tile_kv);
  if (tiles > kMostTiles) return std::nullopt;
  const Problem problem = make_mask_problem(spec, inputs);
  const MaskProbe probe(spec.checked(), problem);
  const std::int64_t most = probe.has_map() ? kMostTilesByParts : kMostTiles;
  if (tiles > most) return std::nullopt;
  const ChosenHeads chosen = choose_heads(probe, inputs.size, most / tiles);
  std::int64_t left = 0;
  for (const auto& [b, h] : chosen.heads) {
    const TileGrid grid = probe.classify(b, h, tile_q, tile_kv);
    left += std::ranges::count_if(grid.classes, [](TileClass one) { return one != TileClass::empty; });
  }
  return static_cast<double>(left) / (static_cast<double>(tiles) * static_cast<double>(chosen.heads.size()));
}

}  // namespace fa::tools
