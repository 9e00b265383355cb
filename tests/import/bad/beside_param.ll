; expect: @mask_mod: `%w = load i32, ptr getelementptr inbounds (i8, ptr @window, i64 4), align 4` reads beside '@window', which is a single number
@window = external constant [2 x i32]

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %at = getelementptr i32, ptr @window, i64 1
  %w = load i32, ptr %at
  %keep = icmp slt i32 %w, %q_idx
  ret i1 %keep
}
