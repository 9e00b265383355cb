#include "compiler/emit/host/outline.h"

#include <cstddef>

#include "compiler/analysis/tiles/class_signature.h"
#include "compiler/emit/host/host.h"
#include "compiler/ir/simplify.h"

namespace fa {

std::shared_ptr<llvm::Module> start_module(const CheckedSpec& spec, const HookIr& hooks, const HostCpu& cpu) {
  std::shared_ptr<llvm::Module> module = make_module(spec.name, hooks.module);
  module->setTargetTriple(cpu.triple);
  module->setDataLayout(cpu.data_layout);
  return module;
}

HeadView head_view(HostBuilder& build, llvm::Value* params, std::size_t pointer, std::size_t strides,
                   int bytes, llvm::Value* b, llvm::Value* h) {
  llvm::IRBuilder<>& ir = build.ir();
  auto stride = [&](std::size_t offset) { return build.param(params, build.i64(), strides + offset); };
  llvm::Value* first = ir.CreateAdd(ir.CreateMul(b, stride(offsetof(TensorStrides, batch))),
                                    ir.CreateMul(h, stride(offsetof(TensorStrides, head))));
  llvm::Value* data =
      build.at(build.param(params, build.ptr(), pointer), ir.CreateMul(first, build.i64(bytes)));
  return {.data = data, .row_stride = stride(offsetof(TensorStrides, row))};
}

TileKinds kinds_of_tiles(const HostModule& host, const TileClasses& classes) {
  const bool masked = host.hooks.mask_mod && !host.facts.mask_is_always_true;
  return {.full = !masked || classes.function != nullptr || classes.map, .partial = masked};
}

void emit_info(const HostModule& host, const TileClasses& classes, TileKinds tiles,
               std::size_t workspace_bytes) {
  llvm::LLVMContext& context = host.context();
  auto number = [&](unsigned value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  };
  // Whether the class differs along one of its arguments.
  const auto differs = [&](ClassArg argument, bool TileMap::* of) {
    if (classes.map) return *classes.map.*of;
    return classes.function != nullptr && !class_argument(*classes.function, argument)->use_empty();
  };
  const auto count = [&](bool of_query) {
    return static_cast<unsigned>(
        std::count_if(classes.summaries.begin(), classes.summaries.end(),
                      [&](const Summary& summary) { return summary.of_query == of_query; }));
  };
  const TileMap map = classes.map.value_or(TileMap{});
  static_assert(offsetof(HostInfo, workspace_bytes) == 0 && offsetof(HostInfo, tile_q) == 8 &&
                offsetof(HostInfo, tile_kv) == 12 && offsetof(HostInfo, has_tile_class) == 16 &&
                offsetof(HostInfo, is_masked) == 20 && offsetof(HostInfo, class_of_batch) == 24 &&
                offsetof(HostInfo, class_of_head) == 28 && offsetof(HostInfo, has_tile_map) == 32 &&
                offsetof(HostInfo, num_query_summaries) == 36 &&
                offsetof(HostInfo, num_key_summaries) == 40 && offsetof(HostInfo, row_block) == 44 &&
                offsetof(HostInfo, column_block) == 48 && offsetof(HostInfo, always_alike) == 52 &&
                offsetof(HostInfo, is_relative) == 56 && offsetof(HostInfo, most_steps) == 60 &&
                sizeof(HostInfo) == 64);
  llvm::Constant* value = llvm::ConstantStruct::getAnon(
      {llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), workspace_bytes),
       number(static_cast<unsigned>(host.shape.tile_q)), number(static_cast<unsigned>(host.shape.tile_kv)),
       number(classes.function != nullptr ? 1 : 0), number(tiles.partial ? 1 : 0),
       number(differs(ClassArg::b, &TileMap::of_batch) ? 1 : 0),
       number(differs(ClassArg::h, &TileMap::of_head) ? 1 : 0), number(classes.map ? 1 : 0),
       number(count(true)), number(count(false)), number(static_cast<unsigned>(map.row_block)),
       number(static_cast<unsigned>(map.column_block)), number(static_cast<unsigned>(map.always_alike)),
       number(map.is_relative ? 1 : 0), number(static_cast<unsigned>(map.most_steps))});
  auto* info = new llvm::GlobalVariable(host.module, value->getType(), true,
                                        llvm::GlobalValue::ExternalLinkage, value, kHostInfoSymbol);
  info->setAlignment(llvm::Align(8));
}

void polish(const HostModule& host) {
  // The emitters write the code as it should run; what is left is repeated addresses and splats.
  const std::string width = std::to_string(host.cpu.lanes * 32);
  for (llvm::Function& function : host.module)
    if (!function.isDeclaration()) {
      function.addFnAttr("prefer-vector-width", width);
      function.addFnAttr("min-legal-vector-width", width);
      // Vectors that do not fit the registers go to the stack. The stack is aligned to 16 bytes, so that such a vector could
      // lie across two cache lines. LLVM can align the frame only if it knows of it before register allocation.
      function.addFnAttr(
          llvm::Attribute::getWithStackAlignment(function.getContext(), llvm::Align(host.cpu.lanes * 4)));
      verify(function, "emit_host");
      simplify_in_place(function);
    }
}

}  // namespace fa
