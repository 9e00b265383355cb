@table = private constant [4 x i8] c"\01\02\04\08"

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  switch i32 %h, label %other [
    i32 0, label %zero
    i32 -3, label %zero
    i32 7, label %seven
  ]

zero:
  %m = and i32 %kv_idx, 3
  %p = getelementptr [4 x i8], ptr @table, i32 0, i32 %m
  %v = load i8, ptr %p
  %c = icmp ugt i8 %v, 2
  ret i1 %c

seven:
  %x = xor i32 %q_idx, %kv_idx
  %y = ashr i32 %x, 2
  %z = icmp sle i32 %y, -1
  %s = select i1 %z, i1 true, i1 poison
  ret i1 %s

other:
  unreachable
}
