// Pairs: words of two bf16 that are neighbours along what is summed over. AVX512_BF16 has a product of them
// (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, VDPBF16PS):
//
//   c[n] = (c[n] + a[2n + 1] b[2n + 1]) + a[2n] b[2n]        n < 16
//
// Each product is added with one rounding, to nearest; operands, sums and results below 2^-126 count as 0. AMX's
// tiles take P and Q the same way.
#pragma once

#include "compiler/emit/host/builder.h"

namespace fa {

/// The type of a vector of words.
inline llvm::Type* vector_of_words(HostBuilder& build) { return build.vec(build.i32()); }

/// c + a b, of a vector of words each.
llvm::Value* multiply_pairs(HostBuilder& build, llvm::Value* a, llvm::Value* b, llvm::Value* c);

/// Two vectors of floats as words, rounded half away from zero: `low`'s numbers are the first ones.
llvm::Value* rounded_pair(HostBuilder& build, llvm::Value* low, llvm::Value* high);

/// void(p, i64 rows, p pairs): probabilities rounded to bf16, two rows at a time. `rows` is even.
llvm::Function* emit_pack_p(const HostModule& host);
/// void(from, i64 stride in bytes, i64 rows, to): rows of V by twos, as [][dv_padded] pairs: 0 beside a last row
/// that has no neighbour, and past head_dim_v.
llvm::Function* emit_pair_rows(const HostModule& host, const char* name);

/// Fills `rows`, floats [][panel], with zeros from `begin` to `end`.
void zero_rows(HostBuilder& build, const HostShape& shape, llvm::Value* rows, llvm::Value* begin,
               llvm::Value* end);

}  // namespace fa
