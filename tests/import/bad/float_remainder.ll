; expect: @score_mod: `%x = frem float %score, 3.000000e+00` is a remainder of floats
define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = frem float %score, 3.000000e+00
  ret float %x
}
