; expect: @mask_mod: `%old = atomicrmw add ptr @count, i32 1 monotonic, align 4` writes memory
@count = global i32 0

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %old = atomicrmw add ptr @count, i32 1 monotonic
  %keep = icmp slt i32 %old, 7
  ret i1 %keep
}
