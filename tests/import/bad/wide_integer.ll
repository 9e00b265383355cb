; expect: @mask_mod: `%both = mul i64 %q, %kv` computes a number that may not fit 32 bits
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %q = sext i32 %q_idx to i64
  %kv = sext i32 %kv_idx to i64
  %both = mul i64 %q, %kv
  %keep = icmp slt i64 %both, 4000000000
  ret i1 %keep
}
