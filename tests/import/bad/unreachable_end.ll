; expect: @mask_mod: `unreachable` is where the hook does not return
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %keep = icmp slt i32 %q_idx, 0
  unreachable
}
