// What a baseline keeps of query rows in the call's workspace, in numbers: the emitter makes them, the object says them,
// the runtime and `facet explain` count bytes by them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/emit/host/shape.h"

namespace fa {

/// Blocks of query rows, by batch entry, head and row. A block has bytes for each kv tile and some beside them.
struct HostRoom {
  std::uint64_t block_bytes;     // whatever the keys
  std::uint64_t kv_tile_bytes;   // of a block, for each kv tile
  std::uint32_t block_rows;      // query rows
  std::uint32_t blocks_of_tile;  // in a tile of query rows that is whole
  std::uint32_t tile_q, tile_kv;
};

/// A call's, in numbers.
struct HostRoomSize {
  int batch, num_q_heads, q_len, kv_len;
};

/// Byte offsets in a block of standard attention, which is a panel's: each row's maximum and sum, then S^T or P^T,
/// [kv_len up to whole tiles][panel] floats.
struct ScoreRoom {
  std::size_t row_max, row_sum, s;
};
ScoreRoom score_room(const HostShape& shape);
/// The same of algorithm 1, whose block is a q tile's: O as the products sum it up, each row's maximum and sum.
struct SumRoom {
  std::size_t o, row_max, row_sum, bytes;
};
SumRoom sum_room(const HostShape& shape);

/// The baseline's whose plan has that loop order.
HostRoom host_room(const HostShape& shape, LoopOrder order);

/// The blocks of one head's rows; bytes of one of them, and of the call's workspace. Numbers that no memory could hold are
/// the largest number that workspaces have.
std::uint64_t blocks_of_head(const HostRoom& room, int q_len);
std::uint64_t bytes_of_block(const HostRoom& room, int kv_len);
std::size_t room_bytes(const HostRoom& room, const HostRoomSize& size);

/// Where blocks begin in a workspace that is aligned to 16 bytes: room_bytes has room for it.
void* first_block(void* workspace);

}  // namespace fa
