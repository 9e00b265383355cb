; expect: @mask_mod: `%x = call i32 @llvm.bswap.i32(i32 %q_idx)` is not an intrinsic that hooks know
declare i32 @llvm.bswap.i32(i32)

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = call i32 @llvm.bswap.i32(i32 %q_idx)
  %keep = icmp slt i32 %x, 7
  ret i1 %keep
}
