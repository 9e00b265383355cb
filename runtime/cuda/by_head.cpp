#include "runtime/cuda/by_head.h"

#include <algorithm>
#include <iterator>

#include "compiler/program/grid.h"
#include "runtime/cuda/turns.h"
#include "templates/backward_params.h"

namespace fa {
namespace {

// CUDA 12.3: from there on graphs hold an overlap that was captured.
constexpr int kCapturesOverlap = 12030;

constexpr int kPartOfSms = 4;
// Rounds of those blocks, of all rows that a block finds stats of at once. Fewer have little to hide.
constexpr int kLeastTurns = 8;
constexpr int kPartOfHeads = 4;  // that the next pass may begin with

}  // namespace

bool overlaps_on(const Pass& pass, const DeviceInfo& gpu) {
  return pass.overlaps && gpu.driver_version >= kCapturesOverlap;
}

int blocks_of_stats_by_head(const Program& program, const CallParams& call, std::int64_t kv_bytes,
                            const DeviceInfo& gpu) {
  const auto stats = std::ranges::find(program, Grid::row_stats, &Pass::grid);
  if (stats == program.end()) return 0;
  const auto next = std::next(stats);
  if (next == program.end() || !overlaps_on(*next, gpu)) return 0;
  // The compiler wants no waiting for heads: it left the blocks small (print_row_stats_pass).
  if (stats->tile_q == kRowsPadded) return 0;
  ForwardParams of_next{};
  of_next.call = call;
  number_blocks(*next, kv_bytes, gpu, of_next);
  const std::int64_t heads = std::int64_t{call.batch} * call.num_kv_heads;
  const int blocks = std::max(gpu.num_sms / kPartOfSms, 1);
  if (kPartOfHeads * (std::int64_t{1} << of_next.head_shift) > heads ||
      blocks_of(*stats, of_next).x < kLeastTurns * blocks)
    return 0;
  return blocks;
}

}  // namespace fa
