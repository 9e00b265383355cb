; expect: @score_mod: `%x = call float @llvm.fma.f32(float %score, float %score, float 1.000000e+00)` must be fused, which no two machines promise
declare float @llvm.fma.f32(float, float, float)

define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = call float @llvm.fma.f32(float %score, float %score, float 1.000000e+00)
  ret float %x
}
