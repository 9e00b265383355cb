; expect: @mask_mod: `br i1 %end, label %done, label %left` closes a loop that has two entries
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
entry:
  %side = icmp slt i32 %q_idx, %kv_idx
  br i1 %side, label %left, label %right

left:
  %i = phi i32 [ 0, %entry ], [ %n, %right ]
  %m = add i32 %i, 1
  %stop = icmp sgt i32 %m, %q_idx
  br i1 %stop, label %done, label %right

right:
  %j = phi i32 [ 5, %entry ], [ %m, %left ]
  %n = mul i32 %j, 3
  %end = icmp sgt i32 %n, %kv_idx
  br i1 %end, label %done, label %left

done:
  %keep = phi i1 [ true, %left ], [ false, %right ]
  ret i1 %keep
}
