@gain = external constant float
@slopes = external constant [0 x float]
declare float @llvm.fabs.f32(float)
declare float @tanhf(float)

define internal float @far(i32 %d, float %slope) {
  %f = sitofp i32 %d to float
  %g = fmul float %f, %slope
  %a = call float @llvm.fabs.f32(float %g)
  ret float %a
}

define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %d = sub nsw i32 %q_idx, %kv_idx
  %h64 = sext i32 %h to i64
  %p = getelementptr inbounds [0 x float], ptr @slopes, i64 0, i64 %h64
  %slope = load float, ptr %p, align 4
  %bias = call float @far(i32 %d, float %slope)
  %g = load float, ptr @gain
  %t = call float @tanhf(float %score)
  %s = fmul float %t, %g
  %r = fsub float %s, %bias
  ret float %r
}
