; expect: @score_mod: `%y = fadd half %x, 0xH3C00` computes in 16 bits
@half_bias = external constant [0 x half]

define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = load half, ptr @half_bias
  %y = fadd half %x, 1.0
  %z = fpext half %y to float
  ret float %z
}
