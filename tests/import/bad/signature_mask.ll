; expect: @mask_mod has the type `i1 (i32, i32)`; a mask_mod has `i1 (i32, i32, i32, i32)`
define i1 @mask_mod(i32 %q_idx, i32 %kv_idx) {
  ret i1 true
}
