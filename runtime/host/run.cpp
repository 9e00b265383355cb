// Passes over the pool: the keys' summaries, the tile map, the order of work, attention. All but the last are
// short, and are left out where nothing needs them.
#include "runtime/host/run.h"

#include "runtime/host/order.h"
#include "runtime/host/pool.h"
#include "runtime/host/walk.h"

namespace fa {
namespace {

/// One call's state. Each calling thread keeps one, with its memory, for later calls. Work is captured by one
/// pointer, which std::function holds without allocating.
class HostCall {
 public:
  void run(const HostKernel& kernel, const ForwardParams& params, int num_threads) {
    kernel_ = &kernel;
    params_ = &params;
    const int threads = num_threads > 0 ? num_threads : usable_cores();
    map_.prepare(kernel, params);
    if (map_.key_items() > 0)
      run_items(map_.key_items(), threads, 0, [this](std::size_t item, void*) { map_.summarise_keys(item); });
    if (map_.items() > 0)
      run_items(map_.items(), threads, 0, [this](std::size_t item, void*) { map_.fill(item); });
    order_.prepare(kernel, params, map_, threads);
    run_items(order_.items(), threads, kernel.info.workspace_bytes,
              [this](std::size_t position, void* workspace) { attend(order_.at(position), workspace); });
  }

 private:
  void attend(const HostItem& item, void* workspace) const {
    const int first_q = item.q_tile * static_cast<int>(kernel_->info.tile_q);
    const auto tile_kv = static_cast<int>(kernel_->info.tile_kv);
    kernel_->start(params_, workspace, item.b, item.h, first_q);
    TileWalk(*kernel_, *params_, map_, item.b, item.h, item.q_tile).each([&](int tile, bool full) {
      kernel_->step(params_, workspace, item.b, item.h, first_q, tile * tile_kv, full ? 1 : 0);
    });
    kernel_->finish(params_, workspace, item.b, item.h, first_q);
  }

  const HostKernel* kernel_ = nullptr;
  const ForwardParams* params_ = nullptr;
  HostTileMap map_;
  HostOrder order_;
};

}  // namespace

void run_host(const HostKernel& kernel, const ForwardParams& params, int num_threads) {
  if (params.call.batch < 1 || params.call.num_q_heads < 1 || params.call.q_len < 1) return;
  thread_local HostCall call;
  call.run(kernel, params, num_threads);
}

}  // namespace fa
