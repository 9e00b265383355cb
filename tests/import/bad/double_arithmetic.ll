; expect: @score_mod: `%y = fptrunc double %x to float` computes in double
define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %wide = fpext float %score to double
  %x = fmul double %wide, 1.000000e-01
  %y = fptrunc double %x to float
  ret float %y
}
