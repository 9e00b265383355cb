#include "runtime/host/baseline.h"

#include "compiler/spec/rounding.h"
#include "runtime/host/pool.h"
#include "runtime/host/size.h"

namespace fa {
namespace {

/// One call's state. Work is captured by one pointer, which std::function holds without allocating.
class BaselineCall {
 public:
  BaselineCall(const HostBaselineKernel& kernel, const ForwardParams& params, void* workspace)
      : kernel_(kernel),
        params_(params),
        blocks_(static_cast<std::byte*>(first_block(workspace))),
        heads_(to_size(params.call.batch) * to_size(params.call.num_q_heads)),
        q_tiles_(ceil_div(to_size(params.call.q_len), kernel.info.tile_q)),
        block_bytes_(bytes_of_block(room(), params.call.kv_len)),
        head_bytes_(blocks_of_head(room(), params.call.q_len) * block_bytes_) {}

  void run(int threads) {
    for (pass_ = 0; pass_ < kernel_.passes.size(); ++pass_) {
      tiles_of_item_ = pass_ < kernel_.baseline.head_passes ? q_tiles_ : 1;
      run_items(heads_ * q_tiles_ / tiles_of_item_, threads, kernel_.info.workspace_bytes,
                [this](std::size_t item, void* workspace) { run_item(item * tiles_of_item_, workspace); });
    }
  }

 private:
  const HostRoom& room() const { return kernel_.baseline.room; }

  /// The item whose first tile of query rows is `tile` of all heads'.
  void run_item(std::size_t tile, void* workspace) const {
    const std::size_t head = tile / q_tiles_, q_tile = tile % q_tiles_;
    const std::size_t heads = to_size(params_.call.num_q_heads);
    std::byte* const rows = blocks_ + head * head_bytes_ + q_tile * room().blocks_of_tile * block_bytes_;
    kernel_.passes[pass_](&params_, workspace, rows, static_cast<std::int32_t>(head / heads),
                          static_cast<std::int32_t>(head % heads),
                          static_cast<std::int32_t>(q_tile * kernel_.info.tile_q));
  }

  const HostBaselineKernel& kernel_;
  const ForwardParams& params_;
  std::byte* blocks_;
  std::size_t heads_, q_tiles_, block_bytes_, head_bytes_;
  std::size_t pass_ = 0, tiles_of_item_ = 1;
};

}  // namespace

std::size_t host_baseline_workspace(const HostBaselineKernel& kernel, const CallParams& call) {
  return room_bytes(
      kernel.baseline.room,
      {.batch = call.batch, .num_q_heads = call.num_q_heads, .q_len = call.q_len, .kv_len = call.kv_len});
}

void run_host_baseline(const HostBaselineKernel& kernel, const ForwardParams& params, void* workspace,
                       int num_threads) {
  if (params.call.batch < 1 || params.call.num_q_heads < 1 || params.call.q_len < 1) return;
  BaselineCall(kernel, params, workspace).run(num_threads > 0 ? num_threads : usable_cores());
}

}  // namespace fa
