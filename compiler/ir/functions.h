// The functions hooks may call, and under which name they stand in the IR. Whatever turns hooks into code
// (the device text printer, the host's code generator, a test's JIT) must map every name in this list and
// needs no other.
//
//   spec        IR                        notes
//   exp         llvm.exp.f32
//   exp2        llvm.exp2.f32
//   log         llvm.log.f32
//   log2        llvm.log2.f32
//   tanh        llvm.tanh.f32
//   sqrt        llvm.sqrt.f32
//   sin, cos    llvm.sin.f32, llvm.cos.f32
//   floor       llvm.floor.f32
//   ceil, trunc llvm.ceil.f32, llvm.trunc.f32
//   round       llvm.roundeven.f32            halves to even
//   abs         llvm.fabs.f32, llvm.abs.i32   wraps at INT_MIN, or says that it cannot occur
//   min, max    llvm.minnum.f32, llvm.maxnum.f32, llvm.smin.i32, llvm.smax.i32
//   clamp       max(lo) then min(hi), by the four above
//   i32(x)      llvm.fptosi.sat.i32.f32       saturates, NaN -> 0
//   sigmoid     @fa.sigmoid                    1 / (1 + exp(-x))
//   rsqrt       @fa.rsqrt                      1 / sqrt(x)
//   erf         @fa.erf
//   atan, atan2 @fa.atan, @fa.atan2            atan2(y, x)
//   log1p       @fa.log1p                      log(1 + x), without losing a small x
//   expm1       @fa.expm1                      exp(x) - 1, likewise
//   pow         @fa.pow                        as C's powf
//   popcount    llvm.ctpop.i32
//
// The rest of a hook is made of these instructions only:
//   fadd fsub fmul fdiv fneg fcmp
//   add sub mul sdiv udiv srem urem and or xor shl ashr icmp
//   select
//   sitofp (i32 -> float)   uitofp, zext (i1 -> float, i32)   sext (i8 -> i32, i32 -> i64)
//   fpext (half, bfloat -> float)
//   getelementptr and load from a tensor argument
//   phi, br: a counted loop per large reduction
//   ret
// i64 appears in addresses alone. `sdiv` and `srem` never see a zero or overflowing divisor.
#pragma once

#include <string_view>

namespace fa {

// Declared functions: LLVM has no intrinsic for them, or may rewrite the intrinsic.
constexpr std::string_view kSigmoidName = "fa.sigmoid";  // float (float), memory(none)
constexpr std::string_view kRsqrtName = "fa.rsqrt";
constexpr std::string_view kErfName = "fa.erf";
constexpr std::string_view kAtanName = "fa.atan";
constexpr std::string_view kLog1pName = "fa.log1p";
constexpr std::string_view kExpm1Name = "fa.expm1";
constexpr std::string_view kAtan2Name = "fa.atan2";  // float (float, float)
constexpr std::string_view kPowName = "fa.pow";

}  // namespace fa
