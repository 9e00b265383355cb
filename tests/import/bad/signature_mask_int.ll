; expect: @mask_mod has the type `i32 (i32, i32, i32, i32)`; a mask_mod has `i1 (i32, i32, i32, i32)`
define i32 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  ret i32 1
}
