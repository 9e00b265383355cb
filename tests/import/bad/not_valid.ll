; expect: not valid LLVM IR: Instruction does not dominate all uses!
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
entry:
  %keep = icmp slt i32 %later, 7
  %later = add i32 %q_idx, 1
  ret i1 %keep
}
