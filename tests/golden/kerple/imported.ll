define noundef zeroext i1 @mask_mod(i32 noundef %_b, i32 noundef %_h, i32 noundef %q_idx, i32 noundef %kv_idx) unnamed_addr {
start:
  %_8 = load i32, ptr @kv_len, align 4
  %_10 = load i32, ptr @q_len, align 4
  %0 = add i32 %q_idx, %_8
  %1 = add i32 %kv_idx, %_10
  %_5 = sub i32 %0, %1
  %_0 = icmp sgt i32 %_5, -1
  ret i1 %_0
}
