; expect: @mask_mod: `%w = load i32, ptr %at, align 4` reads tensor 'doc' at an index that may not fit 32 bits
@doc = external constant [0 x i32]

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %q = sext i32 %q_idx to i64
  %kv = sext i32 %kv_idx to i64
  %both = mul i64 %q, %kv
  %at = getelementptr i32, ptr @doc, i64 %both
  %w = load i32, ptr %at
  %keep = icmp slt i32 %w, %q_idx
  ret i1 %keep
}
