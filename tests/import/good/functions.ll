; Functions that hooks may call, by C's names and as intrinsics; written by hand.
declare float @powf(float, float)
declare float @atan2f(float, float)
declare float @log1pf(float)
declare float @expm1f(float)
declare float @tanf(float)
declare float @atanf(float)
declare float @rintf(float)
declare float @__nv_nearbyintf(float)
declare float @llvm.pow.f32(float, float)
declare float @llvm.roundeven.f32(float)
declare float @llvm.rint.f32(float)
declare float @llvm.ceil.f32(float)
declare float @llvm.trunc.f32(float)
declare float @llvm.fabs.f32(float)
declare i32 @llvm.ctpop.i32(i32)

define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %d = sub i32 %q_idx, %kv_idx
  %x = sitofp i32 %d to float
  %t = fmul float %x, 1.250000e-01
  %size = call float @llvm.fabs.f32(float %t)
  %root = call float @powf(float %size, float 0x3FE6666660000000)
  %cube = call float @llvm.pow.f32(float %score, float 3.000000e+00)
  %turn = call float @atan2f(float %score, float %t)
  %small = call float @log1pf(float %size)
  %minus = fneg float %size
  %grown = call float @expm1f(float %minus)
  %slope = call float @tanf(float 0x3FD3333340000000)
  %angle = call float @atanf(float %t)
  %half = call float @rintf(float %t)
  %near = call float @__nv_nearbyintf(float %t)
  %even = call float @llvm.roundeven.f32(float %t)
  %whole = call float @llvm.rint.f32(float %t)
  %up = call float @llvm.ceil.f32(float %t)
  %cut = call float @llvm.trunc.f32(float %t)
  %ones = call i32 @llvm.ctpop.i32(i32 %d)
  %count = sitofp i32 %ones to float
  %s0 = fadd float %root, %cube
  %s1 = fadd float %s0, %turn
  %s2 = fadd float %s1, %small
  %s3 = fadd float %s2, %grown
  %s4 = fadd float %s3, %slope
  %s5 = fadd float %s4, %angle
  %s6 = fadd float %s5, %half
  %s7 = fadd float %s6, %near
  %s8 = fadd float %s7, %even
  %s9 = fadd float %s8, %whole
  %s10 = fadd float %s9, %up
  %s11 = fadd float %s10, %cut
  %s12 = fadd float %s11, %count
  ret float %s12
}

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = xor i32 %q_idx, %kv_idx
  %ones = call i32 @llvm.ctpop.i32(i32 %x)
  %keep = icmp ult i32 %ones, 3
  ret i1 %keep
}
