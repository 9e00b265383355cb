; expect: @score_mod has the type `double (double, i32, i32, i32, i32)`; a score_mod has `float (float, i32, i32, i32, i32)`
define double @score_mod(double %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  ret double %score
}
