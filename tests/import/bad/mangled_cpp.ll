; expect: no function @mask_mod, but @_Z8mask_modiiii
define i1 @_Z8mask_modiiii(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  ret i1 true
}
