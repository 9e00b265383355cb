// The tile map of a host kernel against brute force, over masks whose tables are drawn at random.
#include "runtime/host/map.h"

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/compiler/analysis/table_masks/masks.h"
#include "tests/runtime/host/problem.h"
#include "tools/tiles/mask_probe.h"

using namespace fa;
using namespace fa::test;
using tools::MaskProbe;
using tools::TileBounds;

namespace {

constexpr int kTileQ = 48, kTileKv = 64;

ForwardParams params_of(const tools::Problem& problem) {
  ForwardParams params{};
  params.call.batch = problem.size.batch;
  params.call.num_q_heads = problem.size.num_q_heads;
  params.call.num_kv_heads = problem.size.num_kv_heads;
  params.call.group_size = params.call.num_q_heads / params.call.num_kv_heads;
  params.call.q_len = problem.size.q_len;
  params.call.kv_len = problem.size.kv_len;
  for (std::size_t i = 0; i < problem.tensors.size(); ++i)
    params.call.tensors[i] = problem.tensors[i].bytes.data();
  return params;
}

}  // namespace

TEST_CASE("host map: each tile's class, to the last element") {
  std::mt19937 random(5);
  int maps = 0, partial = 0, missed = 0;
  for (const TableMaskKind& kind : table_masks())
    for (const TableMask& mask : kind.masks)
      for (const auto& [q_len, kv_len] : {std::pair{310, 520}, {520, 310}}) {
        const tools::Problem problem = problem_of(
            mask, {.batch = 2, .num_q_heads = 2, .num_kv_heads = 1, .q_len = q_len, .kv_len = kv_len},
            random);
        const HostCase host = host_case(problem.spec.checked(), kTileQ, kTileKv);
        if (host.kernel->info.has_tile_map == 0) continue;
        ++maps;
        const ForwardParams params = params_of(problem);
        HostTileMap map;
        map.prepare(*host.kernel, params);
        for (std::size_t item = 0; item < map.key_items(); ++item) map.summarise_keys(item);
        for (std::size_t item = 0; item < map.items(); ++item) map.fill(item);
        const MaskProbe probe(problem.spec.checked(), problem);
        std::string wrong;
        for (int b = 0; b < 2; ++b)
          for (int h = 0; h < 2; ++h)
            for (int row = 0; row < count_tiles(q_len, kTileQ); ++row)
              for (int column = 0; column < count_tiles(kv_len, kTileKv); ++column) {
                const TileBounds tile{row * kTileQ, std::min((row + 1) * kTileQ, q_len) - 1, column * kTileKv,
                                      std::min((column + 1) * kTileKv, kv_len) - 1};
                const tools::TileClass truth = probe.brute_force(b, h, tile);
                const std::uint32_t* const word = map.row(b, h, row) + 2 * (column / kTilesPerWord);
                const bool some = (word[0] >> column % kTilesPerWord & 1) != 0;
                const bool full = (word[1] >> column % kTilesPerWord & 1) != 0;
                if ((!some && truth != tools::TileClass::empty) ||
                    (full && (truth != tools::TileClass::full || !some)))
                  wrong = fmt::format("b {} h {} tile {}, {}: some {} full {}, really {}", b, h, row, column,
                                      some, full, static_cast<int>(truth));
                partial += some && !full;
                missed += some && !full && truth != tools::TileClass::partial;
              }
        INFO(mask.name << ", q_len " << q_len << " kv_len " << kv_len);
        CHECK(wrong == "");
      }
  CHECK(maps >= 60);
  CHECK(missed * 50 < partial);
}
