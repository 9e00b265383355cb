; expect: @mask_mod: `%keep = call i1 %f(i32 %q_idx)` calls through a pointer
@chosen = external global ptr

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %f = load ptr, ptr @chosen
  %keep = call i1 %f(i32 %q_idx)
  ret i1 %keep
}
