; expect: @mask_mod: `store i32 1, ptr @count, align 4` writes memory
@count = global i32 0

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  store i32 1, ptr @count, align 4
  ret i1 true
}
