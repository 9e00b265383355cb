; expect: @mask_mod: `%x = call i32 @llvm.fshl.i32(i32 %q_idx, i32 %q_idx, i32 %kv_idx)` rotates by an amount that is no constant
declare i32 @llvm.fshl.i32(i32, i32, i32)

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = call i32 @llvm.fshl.i32(i32 %q_idx, i32 %q_idx, i32 %kv_idx)
  %keep = icmp slt i32 %x, %kv_idx
  ret i1 %keep
}
