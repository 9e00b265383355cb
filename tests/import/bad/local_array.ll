; expect: @mask_mod: `%array = alloca [4 x i32], align 4` is a local array or variable whose place in memory matters
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %array = alloca [4 x i32]
  %where = and i32 %q_idx, 3
  %wide = sext i32 %where to i64
  %at = getelementptr i32, ptr %array, i64 %wide
  store i32 1, ptr %at
  %x = load i32, ptr %array
  %keep = icmp eq i32 %x, 1
  ret i1 %keep
}
