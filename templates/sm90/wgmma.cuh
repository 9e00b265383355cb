// Products of a warpgroup (wgmma, sm_90a) by name: 64 rows of A, from shared memory or registers, times a tile of
// B in shared memory, added up in f32 while the warps go on.
//
// Accumulators lie as those of m16n8 products do (common/mma_place.cuh): warp w of the warpgroup has rows 16 w..,
// c[n][i] is of columns 8 n... A fragments in registers are m16n8k16's. Operands in shared memory are tiles of
// common/tile.cuh: their swizzle is the one that descriptors call 128 bytes.
//
// Order (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"): begin_products() after other instructions
// wrote registers that take part; then products; close_products() ends a group of them; await_products<n>() waits
// until at most n groups run. Until then nobody reads or writes their registers, nor writes what they read.
#pragma once

#include "common/dtype.cuh"

namespace fa {

__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void close_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// All warps of a warpgroup wait at one place of the code, as PTX asks: in no branch that they do not all take.
template <int kRunning>
__device__ __forceinline__ void await_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kRunning) : "memory");
}

/// Ends a basic block, whose instructions ptxas orders as it likes: what follows stays behind what was before. It does so
/// by an exit that no thread takes. `length`: at least 0, which the compiler does not know.
__device__ __forceinline__ void end_block(int length) {
  asm volatile("{\n.reg .pred p;\nsetp.lt.s32 p, %0, 0;\n@p exit;\n}" ::"r"(length) : "memory");
}

/// Keeps the compiler from moving what reads or writes these registers across this place: it does not know that
/// products write them later than their instruction stands.
template <int kN>
__device__ __forceinline__ void pin(float (&c)[kN][4]) {
#pragma unroll
  for (int n = 0; n < kN; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(c[n][i])::"memory");
}
template <int kSteps>
__device__ __forceinline__ void pin(unsigned (&a)[kSteps][4]) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step)
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(a[step][i])::"memory");
}

/// A warpgroup gives back registers, or takes those that another gave, up to this number a thread.
template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// What this thread wrote to shared memory, by copies that have arrived or by stores, before a barrier after
/// which products read it.
__device__ __forceinline__ void show_to_products() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// The descriptor of an operand whose part begins at `smem`, a multiple of 1024 plus less than 128 bytes of a
/// page's row. Eight rows take 1024 bytes; pages of columns are `page_bytes` apart, which counts only where the
/// rows are what is summed over (V).
__device__ __forceinline__ unsigned long long describe(unsigned smem, unsigned page_bytes) {
  constexpr unsigned long long kSwizzle128 = 1ull << 62;
  constexpr unsigned long long kEightRows = static_cast<unsigned long long>(1024 / 16) << 32;
  return kSwizzle128 | kEightRows | static_cast<unsigned long long>(page_bytes / 16) << 16 |
         (smem & 0x3ffffu) / 16;
}

/// c[n][.] (+)= a b over 16 columns of A, for 8 kN columns of B; `adds` is false where nothing was there before.
///   of_tiles      A and B both with what is summed over side by side in memory: Q K^T
///   of_fragments  A from registers. B likewise, or with kIsTransposed its columns side by side: P V
template <class Element, int kN>
struct WarpgroupProduct;

// Operands by their numbers, as inline assembly wants them: two tiles of accumulators a line.
// clang-format off
#define FA_TILES2(c, n)                                                     \
  "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3]),               \
  "+f"(c[n + 1][0]), "+f"(c[n + 1][1]), "+f"(c[n + 1][2]), "+f"(c[n + 1][3])
#define FA_TILES_TO_2(c) FA_TILES2(c, 0)
#define FA_TILES_TO_4(c) FA_TILES_TO_2(c), FA_TILES2(c, 2)
#define FA_TILES_TO_6(c) FA_TILES_TO_4(c), FA_TILES2(c, 4)
#define FA_TILES_TO_8(c) FA_TILES_TO_6(c), FA_TILES2(c, 6)
#define FA_TILES_TO_10(c) FA_TILES_TO_8(c), FA_TILES2(c, 8)
#define FA_TILES_TO_12(c) FA_TILES_TO_10(c), FA_TILES2(c, 10)
#define FA_TILES_TO_14(c) FA_TILES_TO_12(c), FA_TILES2(c, 12)
#define FA_TILES_TO_16(c) FA_TILES_TO_14(c), FA_TILES2(c, 14)
#define FA_TILES_TO_18(c) FA_TILES_TO_16(c), FA_TILES2(c, 16)
#define FA_TILES_TO_20(c) FA_TILES_TO_18(c), FA_TILES2(c, 18)
#define FA_TILES_TO_22(c) FA_TILES_TO_20(c), FA_TILES2(c, 20)
#define FA_TILES_TO_24(c) FA_TILES_TO_22(c), FA_TILES2(c, 22)
#define FA_TILES_TO_26(c) FA_TILES_TO_24(c), FA_TILES2(c, 24)
#define FA_TILES_TO_28(c) FA_TILES_TO_26(c), FA_TILES2(c, 26)
#define FA_TILES_TO_30(c) FA_TILES_TO_28(c), FA_TILES2(c, 28)
#define FA_TILES_TO_32(c) FA_TILES_TO_30(c), FA_TILES2(c, 30)
#define FA_NAMES_TO_2 "%0, %1, %2, %3, %4, %5, %6, %7"
#define FA_NAMES_TO_4 FA_NAMES_TO_2 ", " "%8, %9, %10, %11, %12, %13, %14, %15"
#define FA_NAMES_TO_6 FA_NAMES_TO_4 ", " "%16, %17, %18, %19, %20, %21, %22, %23"
#define FA_NAMES_TO_8 FA_NAMES_TO_6 ", " "%24, %25, %26, %27, %28, %29, %30, %31"
#define FA_NAMES_TO_10 FA_NAMES_TO_8 ", " "%32, %33, %34, %35, %36, %37, %38, %39"
#define FA_NAMES_TO_12 FA_NAMES_TO_10 ", " "%40, %41, %42, %43, %44, %45, %46, %47"
#define FA_NAMES_TO_14 FA_NAMES_TO_12 ", " "%48, %49, %50, %51, %52, %53, %54, %55"
#define FA_NAMES_TO_16 FA_NAMES_TO_14 ", " "%56, %57, %58, %59, %60, %61, %62, %63"
#define FA_NAMES_TO_18 FA_NAMES_TO_16 ", " "%64, %65, %66, %67, %68, %69, %70, %71"
#define FA_NAMES_TO_20 FA_NAMES_TO_18 ", " "%72, %73, %74, %75, %76, %77, %78, %79"
#define FA_NAMES_TO_22 FA_NAMES_TO_20 ", " "%80, %81, %82, %83, %84, %85, %86, %87"
#define FA_NAMES_TO_24 FA_NAMES_TO_22 ", " "%88, %89, %90, %91, %92, %93, %94, %95"
#define FA_NAMES_TO_26 FA_NAMES_TO_24 ", " "%96, %97, %98, %99, %100, %101, %102, %103"
#define FA_NAMES_TO_28 FA_NAMES_TO_26 ", " "%104, %105, %106, %107, %108, %109, %110, %111"
#define FA_NAMES_TO_30 FA_NAMES_TO_28 ", " "%112, %113, %114, %115, %116, %117, %118, %119"
#define FA_NAMES_TO_32 FA_NAMES_TO_30 ", " "%120, %121, %122, %123, %124, %125, %126, %127"

// Tiles of 8 columns, columns, and the numbers of the operands behind the accumulators.
#define FA_PRODUCT(Element, type, tiles, columns, x0, x1, x2, x3, x4, x5, x6)                                   \
  template <>                                                                                                   \
  struct WarpgroupProduct<Element, tiles> {                                                                     \
    static __device__ __forceinline__ void of_tiles(float (&c)[tiles][4], unsigned long long a,                 \
                                                    unsigned long long b, bool adds) {                          \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x2 ", 0;\n"                                            \
                   "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type                        \
                   " {" FA_NAMES_TO_##tiles "}, %" #x0 ", %" #x1 ", p, 1, 1, 0, 0;\n}"                          \
                   : FA_TILES_TO_##tiles(c)                                                                     \
                   : "l"(a), "l"(b), "r"(static_cast<int>(adds)));                                              \
    }                                                                                                           \
    template <bool kIsTransposed>                                                                               \
    static __device__ __forceinline__ void of_fragments(float (&c)[tiles][4], const unsigned (&a)[4],           \
                                                        unsigned long long b, bool adds) {                      \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x5 ", 0;\n"                                            \
                   "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type                        \
                   " {" FA_NAMES_TO_##tiles "}, {%" #x0 ", %" #x1 ", %" #x2 ", %" #x3 "}, %" #x4                \
                   ", p, 1, 1, %" #x6 ";\n}"                                                                    \
                   : FA_TILES_TO_##tiles(c)                                                                     \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds)),           \
                     "n"(kIsTransposed ? 1 : 0));                                                               \
    }                                                                                                           \
  };
#define FA_PRODUCTS(tiles, columns, ...)                 \
  FA_PRODUCT(Bf16, "bf16", tiles, columns, __VA_ARGS__)  \
  FA_PRODUCT(F16, "f16", tiles, columns, __VA_ARGS__)
FA_PRODUCTS(2, 16, 8, 9, 10, 11, 12, 13, 14)
FA_PRODUCTS(4, 32, 16, 17, 18, 19, 20, 21, 22)
FA_PRODUCTS(6, 48, 24, 25, 26, 27, 28, 29, 30)
FA_PRODUCTS(8, 64, 32, 33, 34, 35, 36, 37, 38)
FA_PRODUCTS(10, 80, 40, 41, 42, 43, 44, 45, 46)
FA_PRODUCTS(12, 96, 48, 49, 50, 51, 52, 53, 54)
FA_PRODUCTS(14, 112, 56, 57, 58, 59, 60, 61, 62)
FA_PRODUCTS(16, 128, 64, 65, 66, 67, 68, 69, 70)
FA_PRODUCTS(18, 144, 72, 73, 74, 75, 76, 77, 78)
FA_PRODUCTS(20, 160, 80, 81, 82, 83, 84, 85, 86)
FA_PRODUCTS(22, 176, 88, 89, 90, 91, 92, 93, 94)
FA_PRODUCTS(24, 192, 96, 97, 98, 99, 100, 101, 102)
FA_PRODUCTS(26, 208, 104, 105, 106, 107, 108, 109, 110)
FA_PRODUCTS(28, 224, 112, 113, 114, 115, 116, 117, 118)
FA_PRODUCTS(30, 240, 120, 121, 122, 123, 124, 125, 126)
FA_PRODUCTS(32, 256, 128, 129, 130, 131, 132, 133, 134)
#undef FA_PRODUCTS
#undef FA_PRODUCT
// clang-format on

}  // namespace fa
