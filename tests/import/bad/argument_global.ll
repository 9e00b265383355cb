; expect: @mask_mod: `%w = load i32, ptr @q_idx, align 4` reads '@q_idx', which is an argument
@q_idx = external constant i32

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %w = load i32, ptr @q_idx
  %keep = icmp slt i32 %w, %kv_idx
  ret i1 %keep
}
