; expect: @score_mod: `%x = call float @powf(float %score, float 3.000000e+00)` is a power
declare float @powf(float, float)

define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = call float @powf(float %score, float 3.000000e+00)
  ret float %x
}
