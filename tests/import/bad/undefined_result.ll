; expect: @mask_mod: `ret i1 undef` returns an undefined value
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  ret i1 undef
}
