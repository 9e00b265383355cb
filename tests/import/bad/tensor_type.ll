; expect: @mask_mod: `%w = load i32, ptr %at, align 4` reads i32 from tensor 'bias', which holds f32
@bias = external constant [0 x i32]

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %wide = sext i32 %h to i64
  %at = getelementptr i32, ptr @bias, i64 %wide
  %w = load i32, ptr %at
  %keep = icmp slt i32 %w, %q_idx
  ret i1 %keep
}
