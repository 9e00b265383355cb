; expect: @score_mod: `%x = call double @tanh(double %wide)` computes in double
declare double @tanh(double)

define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %wide = fpext float %score to double
  %x = call double @tanh(double %wide)
  %y = fptrunc double %x to float
  ret float %y
}
