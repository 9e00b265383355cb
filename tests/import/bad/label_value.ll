; expect: not valid LLVM IR: line 6 has a label where a value belongs
; LLVM 19's parser does not survive this one.
define i1 @mask_mod(i32 %0, i32 %1, i32 %2, i32 %3) {
  br i1 true, label %5, label %7 ; label
  %6 = icmp sgt i32 %2, 0
  select i1 %6, label %7, label %8
  ret i1 %6
}
