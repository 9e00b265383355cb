// Numbers of a spec's dtype in memory, as the pieces of a host kernel load and store them. Included by .cpp
// files after compiler/ir/llvm.h.
#pragma once

#include <functional>

#include "compiler/emit/host/builder.h"

namespace fa {

/// `count` numbers of `dtype` (f32, f16 or bf16) at `from` as floats; a scalar for one. `align`: of floats.
llvm::Value* load_floats(HostBuilder& build, DType dtype, llvm::Value* from, int count, int align = 4);

/// Stores floats (a vector or a scalar) in `dtype`, rounded to nearest even.
void store_floats(HostBuilder& build, DType dtype, llvm::Value* value, llvm::Value* to);

/// Stores `value` in `floats` floats, a multiple of a vector's.
void fill_floats(HostBuilder& build, const HostShape& shape, llvm::Value* to, int floats, llvm::Value* value);

/// Cuts `width` into vectors: whole ones, then halves, ... down to single numbers.
void for_each_chunk(int width, int lanes, const std::function<void(int first, int count)>& body);

}  // namespace fa
