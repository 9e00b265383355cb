; expect: @mask_mod: `%x = call i32 @rand()` calls a function that is not defined here
declare i32 @rand()

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = call i32 @rand()
  %keep = icmp slt i32 %x, 7
  ret i1 %keep
}
