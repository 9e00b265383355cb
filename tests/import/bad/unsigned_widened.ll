; expect: @mask_mod: `%wide = zext i32 %x to i64` widens an unsigned number that may not fit 31 bits
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = mul i32 %q_idx, -1640531527
  %wide = zext i32 %x to i64
  %keep = icmp ult i64 %wide, 40
  ret i1 %keep
}
