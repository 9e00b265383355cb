; expect: 3:12: expected type
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = add b8 %q_idx, 1
  ret i1 true
}
