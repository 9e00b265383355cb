; expect: @mask_mod: `%w = load i32, ptr %at, align 4` reads between two elements of tensor 'doc'
@doc = external constant [0 x i32]

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %wide = sext i32 %kv_idx to i64
  %at = getelementptr i8, ptr @doc, i64 %wide
  %w = load i32, ptr %at
  %keep = icmp slt i32 %w, %q_idx
  ret i1 %keep
}
