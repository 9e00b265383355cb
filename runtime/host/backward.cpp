// Passes over the pool: the tile map as in the forward pass, zeros, the items, and what adds them up.
#include "runtime/host/backward.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/host/map.h"
#include "runtime/host/pool.h"
#include "runtime/host/size.h"
#include "runtime/host/walk.h"

namespace fa {
namespace {

constexpr std::size_t kElementsAnItem = 1 << 16;  // of captured gradients, to be cleared or added up

/// One call's state. Each calling thread keeps one, with its memory, for later calls. Work is captured by one
/// pointer, which std::function holds without allocating.
class Call {
 public:
  void run(const HostBackwardKernel& kernel, const BackwardCall& call, void* workspace, int num_threads) {
    kernel_ = &kernel;
    call_ = &call;
    workspace_ = static_cast<std::byte*>(workspace);
    const HostBackwardLayout layout(kernel, call);
    layout_ = &layout;
    const int threads = num_threads > 0 ? num_threads : usable_cores();
    const ForwardParams& params = call.params.forward;
    map_.prepare(kernel.tiles, params);
    if (map_.key_items() > 0)
      run_items(map_.key_items(), threads, 0, [this](std::size_t item, void*) { map_.summarise_keys(item); });
    if (map_.items() > 0)
      run_items(map_.items(), threads, 0, [this](std::size_t item, void*) { map_.fill(item); });

    find_chunks();
    if (!chunks_.empty())
      run_items(chunks_.size(), threads, 0, [this](std::size_t chunk, void*) { clear(chunks_[chunk]); });
    is_touched_.assign(number(params.call.batch, 0, 0) * to_size(layout.kv_tiles()), 0);
    const std::size_t own = layout.parts() > 1 ? 0 : layout.d_kv_floats() * sizeof(float);
    run_items(layout.items(), threads, kernel.tiles.info.workspace_bytes + own,
              [this](std::size_t item, void* memory) { run_item(item, static_cast<std::byte*>(memory)); });
    if (layout.parts() > 1)
      run_items(to_size(params.call.batch) * to_size(params.call.num_kv_heads) * to_size(layout.kv_tiles()),
                threads, 0, [this](std::size_t item, void*) { store(item); });
    if (!chunks_.empty())
      run_items(chunks_.size(), threads, 0, [this](std::size_t chunk, void*) { add_up(chunks_[chunk]); });
  }

 private:
  /// Elements of one captured gradient.
  struct Chunk {
    std::size_t gradient, first, end;
  };

  const CallParams& size_of_call() const { return call_->params.forward.call; }

  void find_chunks() {
    chunks_.clear();
    for (std::size_t i = 0; i < call_->gradients.size(); ++i) {
      if (call_->gradients[i] == nullptr) continue;
      const auto elements = static_cast<std::size_t>(call_->params.elements[i]);
      for (std::size_t first = 0; first < elements; first += kElementsAnItem)
        chunks_.push_back({i, first, std::min(first + kElementsAnItem, elements)});
    }
  }

  double* sums(std::size_t gradient, std::size_t copy) const {
    auto* const first = reinterpret_cast<double*>(workspace_ + layout_->sums(gradient).offset);
    return first + copy * static_cast<std::size_t>(call_->params.elements[gradient]);
  }

  void clear(const Chunk& chunk) const {
    const HostBackwardLayout::Sums& where = layout_->sums(chunk.gradient);
    if (where.is_stored)
      std::fill(call_->gradients[chunk.gradient] + chunk.first, call_->gradients[chunk.gradient] + chunk.end,
                0.0f);
    for (std::size_t copy = 0; copy < where.copies; ++copy)
      std::fill(sums(chunk.gradient, copy) + chunk.first, sums(chunk.gradient, copy) + chunk.end, 0.0);
  }

  void add_up(const Chunk& chunk) const {
    const HostBackwardLayout::Sums& where = layout_->sums(chunk.gradient);
    if (where.is_stored) return;
    for (std::size_t i = chunk.first; i < chunk.end; ++i) {
      double sum = 0;
      for (std::size_t copy = 0; copy < where.copies; ++copy) sum += sums(chunk.gradient, copy)[i];
      call_->gradients[chunk.gradient][i] = static_cast<float>(sum);
    }
  }

  /// A number for a kv head of a batch entry and a part of its rows.
  std::size_t number(int b, int kv_head, int part) const {
    return (to_size(b) * to_size(size_of_call().num_kv_heads) + to_size(kv_head)) *
               to_size(layout_->parts()) +
           to_size(part);
  }

  float* in_workspace(std::size_t number) const {
    return reinterpret_cast<float*>(workspace_) + number * layout_->d_kv_floats();
  }

  /// The last rows first: a causal mask makes them the longest.
  void run_item(std::size_t position, std::byte* memory) {
    const CallParams& call = size_of_call();
    const std::size_t batches = layout_->takes_all_batches() ? 1 : to_size(call.batch);
    const std::size_t heads = batches * to_size(call.num_kv_heads);
    const int part = layout_->parts() - 1 - static_cast<int>(position / heads);
    const int head = static_cast<int>(position % heads);
    const int b = head / call.num_kv_heads, kv_head = head % call.num_kv_heads;
    if (!layout_->takes_all_batches()) return run_rows(b, kv_head, part, memory);
    for (int each = 0; each < call.batch; ++each) run_rows(each, kv_head, part, memory);
  }

  /// A part of the rows of a batch entry's group.
  void run_rows(int b, int kv_head, int part, std::byte* memory) {
    const CallParams& call = size_of_call();
    const std::size_t item_number = number(b, kv_head, part);
    HostBackwardItem item{};
    item.d_k = layout_->parts() > 1 ? in_workspace(item_number)
                                    : reinterpret_cast<float*>(memory + kernel_->tiles.info.workspace_bytes);
    item.d_v = item.d_k + layout_->d_k_floats();
    for (std::size_t i = 0; i < call_->gradients.size(); ++i) {
      if (call_->gradients[i] == nullptr) continue;
      const HostBackwardLayout::Sums& where = layout_->sums(i);
      if (where.is_stored) item.stored |= std::uint64_t{1} << i;
      item.sums[i] = where.is_stored ? static_cast<void*>(call_->gradients[i])
                                     : sums(i, layout_->copy_of(where, b, kv_head, part));
    }
    const std::int64_t tiles = std::int64_t{call.group_size} * layout_->q_tiles();
    for (std::int64_t tile = tiles * part / layout_->parts(); tile < tiles * (part + 1) / layout_->parts();
         ++tile)
      run_tile(item, item_number, memory, b,
               kv_head * call.group_size + static_cast<int>(tile / layout_->q_tiles()),
               static_cast<int>(tile % layout_->q_tiles()));
    if (layout_->parts() > 1) return;
    for (int tile = 0; tile < layout_->kv_tiles(); ++tile) {
      const float* const d_k = item.d_k + kv_row(tile) * kernel_->info.d_columns;
      const float* const d_v = item.d_v + kv_row(tile) * kernel_->info.dv_columns;
      store_tile(&d_k, &d_v, touched(item_number, tile), b, kv_head, tile);
    }
  }

  void run_tile(const HostBackwardItem& item, std::size_t item_number, void* memory, int b, int h,
                int q_tile) {
    const BackwardParams& params = call_->params;
    const int first_q = q_tile * static_cast<int>(kernel_->tiles.info.tile_q);
    const auto tile_kv = static_cast<int>(kernel_->tiles.info.tile_kv);
    kernel_->start(&params, memory, &item, b, h, first_q);
    TileWalk(kernel_->tiles, params.forward, map_, b, h, q_tile).each([&](int tile, bool full) {
      touch(item, item_number, tile);
      kernel_->step(&params, memory, &item, b, h, first_q, tile * tile_kv, full ? 1 : 0);
    });
    kernel_->finish(&params, memory, &item, b, h, first_q);
  }

  std::size_t kv_row(int tile) const { return to_size(tile) * kernel_->tiles.info.tile_kv; }
  std::size_t rows_of(int tile) const {
    return std::min<std::size_t>(kernel_->tiles.info.tile_kv, to_size(size_of_call().kv_len) - kv_row(tile));
  }
  std::uint8_t& touched(std::size_t item_number, int tile) {
    return is_touched_[item_number * to_size(layout_->kv_tiles()) + to_size(tile)];
  }

  /// A kv tile's dK and dV begin with 0 when an item first meets it.
  void touch(const HostBackwardItem& item, std::size_t item_number, int tile) {
    if (touched(item_number, tile) != 0) return;
    touched(item_number, tile) = 1;
    const std::size_t d = kernel_->info.d_columns, dv = kernel_->info.dv_columns;
    std::fill_n(item.d_k + kv_row(tile) * d, rows_of(tile) * d, 0.0f);
    std::fill_n(item.d_v + kv_row(tile) * dv, rows_of(tile) * dv, 0.0f);
  }

  void store_tile(const float* const* d_k, const float* const* d_v, int count, int b, int kv_head,
                  int tile) const {
    kernel_->store(&call_->params, d_k, d_v, count, b, kv_head, static_cast<int>(kv_row(tile)),
                   static_cast<int>(rows_of(tile)));
  }

  /// Adds up a kv tile's dK and dV of a head's parts.
  void store(std::size_t position) {
    const int tile = static_cast<int>(position % to_size(layout_->kv_tiles()));
    const auto head = static_cast<int>(position / to_size(layout_->kv_tiles()));
    const int b = head / size_of_call().num_kv_heads, kv_head = head % size_of_call().num_kv_heads;
    std::vector<const float*> d_k, d_v;
    for (int part = 0; part < layout_->parts(); ++part) {
      const std::size_t item = number(b, kv_head, part);
      if (touched(item, tile) == 0) continue;
      d_k.push_back(in_workspace(item) + kv_row(tile) * kernel_->info.d_columns);
      d_v.push_back(in_workspace(item) + layout_->d_k_floats() + kv_row(tile) * kernel_->info.dv_columns);
    }
    store_tile(d_k.data(), d_v.data(), static_cast<int>(d_k.size()), b, kv_head, tile);
  }

  const HostBackwardKernel* kernel_ = nullptr;
  const BackwardCall* call_ = nullptr;
  const HostBackwardLayout* layout_ = nullptr;
  std::byte* workspace_ = nullptr;
  HostTileMap map_;
  std::vector<Chunk> chunks_;
  std::vector<std::uint8_t> is_touched_;  // [item numbers, kv tiles]
};

}  // namespace

void run_host_backward(const HostBackwardKernel& kernel, const BackwardCall& call, void* workspace,
                       int num_threads) {
  thread_local Call state;
  state.run(kernel, call, workspace, num_threads);
}

}  // namespace fa
