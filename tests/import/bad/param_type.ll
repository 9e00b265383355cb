; expect: @mask_mod: `%w = load i32, ptr @gain, align 4` reads '@gain' as i32, which is an f32
@gain = external constant i32

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %w = load i32, ptr @gain
  %keep = icmp slt i32 %w, %q_idx
  ret i1 %keep
}
