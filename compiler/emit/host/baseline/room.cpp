#include "compiler/emit/host/baseline/room.h"

#include "compiler/spec/rounding.h"
#include "fa/error.h"

namespace fa {
namespace {

constexpr std::size_t kAlignment = 64;  // of what vectors and tile registers load
constexpr std::size_t kWorkspaceAlignment = 16;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;  // more than any machine has

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return a != 0 && b > kMostBytes / a ? kMostBytes : a * b;
}

}  // namespace

ScoreRoom score_room(const HostShape& shape) {
  const std::size_t statistics = static_cast<std::size_t>(shape.panel) * sizeof(float);
  return {.row_max = 0, .row_sum = statistics, .s = round_up(2 * statistics, kAlignment)};
}

SumRoom sum_room(const HostShape& shape) {
  const std::size_t rows = static_cast<std::size_t>(shape.panels) * static_cast<std::size_t>(shape.panel);
  const std::size_t o =
      round_up(rows * static_cast<std::size_t>(shape.o_columns) * sizeof(float), kAlignment);
  const std::size_t statistics = round_up(rows * sizeof(float), kAlignment);
  return {.o = 0, .row_max = o, .row_sum = o + statistics, .bytes = o + 2 * statistics};
}

HostRoom host_room(const HostShape& shape, LoopOrder order) {
  const auto number = [](int value) { return static_cast<std::uint32_t>(value); };
  HostRoom room{.block_bytes = 0,
                .kv_tile_bytes = 0,
                .block_rows = number(shape.tile_q),
                .blocks_of_tile = 1,
                .tile_q = number(shape.tile_q),
                .tile_kv = number(shape.tile_kv)};
  switch (order) {
    case LoopOrder::q_outer:
      throw InternalError("fused kernels keep nothing of query rows in memory");
    case LoopOrder::kv_outer:
      room.block_bytes = sum_room(shape).bytes;
      break;
    case LoopOrder::standard:
      room.block_bytes = score_room(shape).s;
      room.kv_tile_bytes = static_cast<std::uint64_t>(shape.tile_kv) * number(shape.panel) * sizeof(float);
      room.block_rows = number(shape.panel);
      room.blocks_of_tile = number(shape.panels);
      break;
  }
  return room;
}

std::uint64_t blocks_of_head(const HostRoom& room, int q_len) {
  const auto rows = static_cast<std::uint64_t>(q_len);
  const std::uint64_t rest = rows % room.tile_q;
  return rows / room.tile_q * room.blocks_of_tile + ceil_div(rest, room.block_rows);
}

std::uint64_t bytes_of_block(const HostRoom& room, int kv_len) {
  const std::uint64_t tiles = ceil_div(static_cast<std::uint64_t>(kv_len), room.tile_kv);
  return room.block_bytes + tiles * room.kv_tile_bytes;
}

std::size_t room_bytes(const HostRoom& room, const HostRoomSize& size) {
  const std::uint64_t heads =
      static_cast<std::uint64_t>(size.batch) * static_cast<std::uint64_t>(size.num_q_heads);
  const std::uint64_t bytes =
      times(times(heads, blocks_of_head(room, size.q_len)), bytes_of_block(room, size.kv_len));
  return static_cast<std::size_t>(bytes + kAlignment - kWorkspaceAlignment);
}

void* first_block(void* workspace) {
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  return static_cast<std::byte*>(workspace) + (kAlignment - address % kAlignment) % kAlignment;
}

}  // namespace fa
