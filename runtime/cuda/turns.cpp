#include "runtime/cuda/turns.h"

#include <algorithm>
#include <limits>

#include "compiler/program/grid.h"
#include "compiler/spec/rounding.h"

namespace fa {
namespace {

/// A pass's tiles, the heads that each of a batch entry's comes in, and what those heads read again and again.
struct Work {
  std::int64_t tiles = 0;
  int heads = 0;
  int batch = 0;
  std::int64_t bytes_of_a_head = 0;
  int sharing = 1;  // heads that read the same

  std::int64_t bytes(std::int64_t heads_in_turn) const {
    return ceil_div(heads_in_turn, sharing) * bytes_of_a_head;
  }
  /// Of heads of all batch entries (entry_shift in templates/params.h).
  std::int64_t numbers() const { return std::int64_t{batch} << entry_shift_of(heads); }
  /// Of 2^shift numbers, some of which have no head.
  double ctas_of_turn(int shift) const {
    return static_cast<double>(tiles << shift) * heads / static_cast<double>(1 << entry_shift_of(heads));
  }
  /// Whether the grid has room for turns of 2^shift heads.
  bool has_room(int shift) const { return shift <= 30 && tiles << shift <= std::numeric_limits<int>::max(); }
};

Work work_of(const Pass& pass, const CallParams& call, std::int64_t kv_bytes) {
  if (!is_of_keys(pass.grid))
    return {.tiles = count_tiles(call.q_len, pass.tile_q),
            .heads = call.num_q_heads,
            .batch = call.batch,
            .bytes_of_a_head = kv_bytes,
            .sharing = call.group_size};
  // A kv tile's Q and dO, of all heads that share it.
  const std::int64_t row_bytes = call.kv_len > 0 ? kv_bytes / call.kv_len : 0;
  return {.tiles = count_tiles(call.kv_len, pass.tile_kv),
          .heads = call.num_kv_heads,
          .batch = call.batch,
          .bytes_of_a_head = call.group_size * row_bytes * call.q_len};
}

constexpr int kUsualShift = 2;

/// Up to 2^most heads of one batch entry.
int usual_shift(const Work& work, std::int64_t l2_bytes, int most = kUsualShift) {
  int shift = most;
  while (shift > 0 && (work.heads % (1 << shift) != 0 || work.bytes(1 << shift) > l2_bytes)) --shift;
  return shift;
}

/// Whether a table with an element for each query and key is larger than the L2 cache, so that each turn of heads reads it from
/// memory again.
bool outgrows_cache(const CallParams& call, std::int64_t l2_bytes) {
  constexpr std::int64_t kElementBytes = 2;  // or 4: not known here
  return kElementBytes * call.q_len * call.kv_len > l2_bytes;
}

/// Whether CTAs of the first tokens, which visit all tiles of a sequence, would work on alone for long where they started
/// last: where those are more than an SM has CTAs, each of which visits one tile at least. Where they are fewer, as in many
/// short sequences, the end matters little, and tiles of one head that follow each other find its K and V in the L2 cache.
bool may_end_alone(const Pass& pass, const CallParams& call, int num_sms) {
  const std::int64_t q_tiles = count_tiles(call.q_len, pass.tile_q);
  const std::int64_t kv_tiles = count_tiles(call.kv_len, pass.tile_kv);
  const bool of_keys = is_of_keys(pass.grid);
  const std::int64_t longest = of_keys ? q_tiles * call.group_size : kv_tiles;
  const std::int64_t ctas =
      std::int64_t{call.batch} * (of_keys ? call.num_kv_heads * kv_tiles : call.num_q_heads * q_tiles);
  return longest * num_sms > ctas;
}

/// One turn of all heads there are, or as many as the grid has room for.
int shift_of_all_heads(const Work& work) {
  int shift = 0;
  while (std::int64_t{1} << shift < work.numbers() && work.has_room(shift + 1)) ++shift;
  return shift;
}

/// CTAs of a pass that the GPU runs at once: two an SM, which is what registers leave room for, or fewer by shared memory.
std::int64_t places(const Pass& pass, const DeviceInfo& gpu) {
  const int by_memory = gpu.max_smem_per_sm / (pass.shared_memory + gpu.reserved_smem_per_block + 1);
  return std::int64_t{gpu.num_sms} * std::clamp(by_memory, 1, 2);
}

/// Where each tile takes longer than those after it: so many heads that the tiles of a turn fill the places of the GPU, or
/// nearly. The shortest CTAs of a turn then end as the longest of the next begin; with fewer heads the longest of the last
/// turn begin when most of the others have ended. That costs half of the longest CTA: in a launch of many CTAs little, and less
/// than it brings that tiles of one head run side by side (an H100: 8% for B32 H16 N512 at d128, where it is 5% of a place's
/// work).
/// Up to four heads may fill the L2 cache by what they read, more of them half of it. The last turn is not much smaller than others.
int shift_of_growing_tiles(const Work& work, std::int64_t places, std::int64_t l2_bytes) {
  constexpr int kLittle = 18;  // 1 / kLittle of a place's work
  constexpr double kNearlyFull = 7.0 / 8, kMostIdle = 1.0 / 4;
  // Half of the longest CTA, tiles / 2, beside what the heads' CTAs of 1 to `tiles` come to at a place.
  const bool ends_well = (work.tiles + 1) * work.batch * work.heads >= kLittle * places;
  const int most = ends_well ? kUsualShift : std::numeric_limits<int>::max();
  int best = 0;
  for (int shift = 1; shift <= most && work.has_room(shift); ++shift) {
    const std::int64_t in_turn = std::int64_t{1} << shift, numbers = work.numbers();
    const bool is_last = in_turn >= numbers;  // one turn of all
    if (work.bytes(std::min(in_turn, numbers)) > (shift <= kUsualShift ? l2_bytes : l2_bytes / 2)) break;
    const double idle = static_cast<double>((in_turn - numbers % in_turn) % in_turn);
    if (is_last || idle <= kMostIdle * static_cast<double>(in_turn)) best = shift;
    if (is_last ||
        (shift >= kUsualShift && work.ctas_of_turn(best) >= kNearlyFull * static_cast<double>(places)))
      break;
  }
  return best;
}

int head_shift(const Pass& pass, const Work& work, const CallParams& call, const DeviceInfo& gpu) {
  switch (pass.grid) {
    case Grid::q_tiles_of_shared_table:
      return usual_shift(work, gpu.l2_bytes, outgrows_cache(call, gpu.l2_bytes) ? 3 : kUsualShift);
    case Grid::last_q_tiles_first:
    case Grid::longest_kv_tiles_first:
      return shift_of_growing_tiles(work, places(pass, gpu), gpu.l2_bytes);
    case Grid::first_q_tiles_first:
    case Grid::first_kv_tiles_first:
      if (may_end_alone(pass, call, gpu.num_sms)) return shift_of_all_heads(work);
      [[fallthrough]];
    default:
      return usual_shift(work, gpu.l2_bytes);
  }
}

}  // namespace

void number_blocks(const Pass& pass, std::int64_t kv_bytes, const DeviceInfo& gpu, ForwardParams& params) {
  const Work work = work_of(pass, params.call, kv_bytes);
  params.head_shift = head_shift(pass, work, params.call, gpu);
  params.entry_shift = entry_shift_of(work.heads);
}

}  // namespace fa
