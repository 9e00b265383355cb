; expect: no function @mask_mod
define i1 @mask(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  ret i1 true
}
