; expect: @score_mod: `%z = bitcast i32 %y to float` looks at the bits of a float
define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = bitcast float %score to i32
  %y = and i32 %x, 2147483647
  %z = bitcast i32 %y to float
  ret float %z
}
