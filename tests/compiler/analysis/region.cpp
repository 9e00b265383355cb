// The control flow of a hook as a tree of counted loops, and dependence through them.
#include "compiler/analysis/region.h"

#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/dependence.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/spec/spec.h"
#include "fa/error.h"
#include "tests/catch.h"

namespace {

using namespace fa;

HookIr lower_mask(const std::string& mask) {
  return lower(
      Spec::parse("attention t\nhead_dim 64\ntensor t : i32[kv_len]\nmask_mod = " + mask + "\n").checked());
}

}  // namespace

TEST_CASE("straight-line hooks have no loop") {
  const HookIr hooks = lower_mask("t[kv_idx] > q_idx");
  const Region region = region_of(*hooks.mask_mod);
  CHECK(region.result ==
        llvm::cast<llvm::ReturnInst>(hooks.mask_mod->back().getTerminator())->getReturnValue());
  for (const Region::Item& item : region.items) CHECK(item.loop == nullptr);
}

TEST_CASE("nested reductions are nested loops with their trip counts") {
  const HookIr hooks =
      lower_mask("any(i < 40: sum(j < 50: t[min(i * j, kv_len - 1)]) > q_idx) and all(k < 33: k != kv_idx)");
  const Region region = region_of(*hooks.mask_mod);
  std::vector<const Loop*> loops;
  for (const Region::Item& item : region.items)
    if (item.loop) loops.push_back(item.loop.get());
  REQUIRE(loops.size() == 2);
  CHECK(loops[0]->trip_count == 40);
  CHECK(loops[1]->trip_count == 33);
  long long reads = 0;
  for_each_instruction(region, [&](const llvm::Instruction& instruction, long long times) {
    if (llvm::isa<llvm::LoadInst>(instruction)) reads += times;
  });
  CHECK(reads == 40 * 50);
  // Later stages take the result from the last block.
  CHECK(llvm::isa<llvm::ReturnInst>(hooks.mask_mod->back().getTerminator()));
}

TEST_CASE("a loop's value depends on what its body reads, round after round") {
  const HookIr hooks = lower_mask("max(i < 40: t[(kv_idx + i) % kv_len]) > 3");
  const Dependence dependence(*hooks.mask_mod);
  const Region region = region_of(*hooks.mask_mod);
  CHECK(dependence.of(*region.result).print() == "{kv}");
  CHECK(static_cast<int>(dependence.stage(*region.result)) == static_cast<int>(Stage::column));
}

TEST_CASE("stages by dependence") {
  const auto stage = [](std::uint8_t bits) { return static_cast<int>(stage_of({bits})); };
  CHECK(stage(0) == static_cast<int>(Stage::head));
  CHECK(stage(DependsOn::b | DependsOn::h) == static_cast<int>(Stage::head));
  CHECK(stage(DependsOn::q | DependsOn::h) == static_cast<int>(Stage::row));
  CHECK(stage(DependsOn::kv | DependsOn::b) == static_cast<int>(Stage::column));
  CHECK(stage(DependsOn::q | DependsOn::kv) == static_cast<int>(Stage::element));
  CHECK(stage(DependsOn::score) == static_cast<int>(Stage::element));
}

TEST_CASE("a branch that is not a counted loop is an internal error") {
  const HookIr hooks = lower_mask("t[kv_idx] > q_idx");
  const std::shared_ptr<llvm::Module> copies = merge_modules({hooks.module});
  llvm::Function& function = *copies->getFunction("mask_mod");
  llvm::BasicBlock& entry = function.getEntryBlock();
  llvm::Instruction* end = entry.getTerminator();
  llvm::Value* result = llvm::cast<llvm::ReturnInst>(end)->getReturnValue();
  llvm::BasicBlock* other = entry.splitBasicBlock(end, "other");
  entry.getTerminator()->eraseFromParent();
  llvm::BasicBlock* third = llvm::BasicBlock::Create(copies->getContext(), "third", &function);
  llvm::IRBuilder<> builder(&entry);
  builder.CreateCondBr(result, other, third);
  builder.SetInsertPoint(third);
  builder.CreateRet(builder.getFalse());
  CHECK_THROWS_AS(region_of(function), InternalError);
}
