; expect: @mask_mod: `%w = load volatile i32, ptr @window, align 4` is a volatile or atomic read
@window = external global i32

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %w = load volatile i32, ptr @window
  %keep = icmp slt i32 %w, %q_idx
  ret i1 %keep
}
