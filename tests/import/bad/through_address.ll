; expect: @mask_mod: `%x = load i32, ptr %p, align 4` reads through an address that is no tensor's
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %wide = sext i32 %q_idx to i64
  %p = inttoptr i64 %wide to ptr
  %x = load i32, ptr %p
  %keep = icmp slt i32 %x, %kv_idx
  ret i1 %keep
}
