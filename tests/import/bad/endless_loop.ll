; expect: @mask_mod: the loop at `br label %loop` has no constant bound on its iterations
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  br label %loop

loop:
  br label %loop
}
