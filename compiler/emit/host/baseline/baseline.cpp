#include "compiler/emit/host/baseline/baseline.h"

#include <cstddef>

#include "compiler/emit/host/baseline/passes.h"
#include "compiler/emit/host/vector/elementary.h"

namespace fa {

bool has_mask(const HostModule& host) { return kinds_of_tiles(host, {}).partial; }

StepParts emit_step_parts(const HostModule& host) {
  StepParts parts;
  parts.products = host_products(host, {.full = true, .partial = false});
  if (has_mask(host)) parts.mask = emit_mask(host);
  if (host.spec.has_dropout) parts.dropout = emit_dropout(host);
  return parts;
}

void each_kv_tile(const HostModule& host, HostBuilder& build, llvm::Value* params,
                  const std::function<void(llvm::Value*)>& body) {
  llvm::Value* kv_len = build.param(params, build.i32(), offsetof(ForwardParams, call.kv_len));
  // In 64 bits: the last tile may end past the largest i32.
  build.loop(build.i64(0), build.ir().CreateSExt(kv_len, build.i64()), build.i64(host.shape.tile_kv),
             [&](llvm::Value* first) { body(build.ir().CreateTrunc(first, build.i32())); });
}

namespace {

void emit_baseline_info(const HostModule& host, const HostRoom& room, EmittedPasses passes) {
  llvm::LLVMContext& context = host.context();
  auto* i32 = llvm::Type::getInt32Ty(context);
  auto* i64 = llvm::Type::getInt64Ty(context);
  auto number = [&](unsigned value) { return llvm::ConstantInt::get(i32, value); };
  static_assert(offsetof(HostRoom, block_bytes) == 0 && offsetof(HostRoom, kv_tile_bytes) == 8 &&
                offsetof(HostRoom, block_rows) == 16 && offsetof(HostRoom, blocks_of_tile) == 20 &&
                offsetof(HostRoom, tile_q) == 24 && offsetof(HostRoom, tile_kv) == 28 &&
                sizeof(HostRoom) == 32 && offsetof(HostBaselineInfo, passes) == 32 &&
                offsetof(HostBaselineInfo, head_passes) == 36 && sizeof(HostBaselineInfo) == 40);
  llvm::Constant* value = llvm::ConstantStruct::getAnon(
      {llvm::ConstantInt::get(i64, room.block_bytes), llvm::ConstantInt::get(i64, room.kv_tile_bytes),
       number(room.block_rows), number(room.blocks_of_tile), number(room.tile_q), number(room.tile_kv),
       number(passes.all), number(passes.by_head)});
  auto* info = new llvm::GlobalVariable(host.module, value->getType(), true,
                                        llvm::GlobalValue::ExternalLinkage, value, kHostBaselineInfoSymbol);
  info->setAlignment(llvm::Align(8));
}

}  // namespace

HostIr emit_host_baseline(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts, const Plan& plan,
                          const HostCpu& cpu) {
  const std::shared_ptr<llvm::Module> module = start_module(spec, hooks, cpu);
  const HostModule host{.spec = spec,
                        .hooks = hooks,
                        .facts = facts,
                        .cpu = cpu,
                        .shape = host_shape(spec, plan, cpu),
                        .module = *module,
                        .calls_elementary = has_many_elementary_calls({hooks.module, facts.logits.module})};
  const EmittedPasses passes =
      plan.loop_order == LoopOrder::kv_outer ? emit_flash1(host) : emit_standard(host);
  emit_info(host, {}, {.full = true, .partial = false}, host.shape.bytes);
  emit_baseline_info(host, host_room(host.shape, plan.loop_order), passes);
  polish(host);
  return {.module = module, .cpu = cpu};
}

}  // namespace fa
