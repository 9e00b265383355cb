; expect: @mask_mod: the loop at `br i1 %again, label %loop, label %done` has no constant bound on its iterations
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %more = xor i32 %sum, %i
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, %q_idx
  br i1 %again, label %loop, label %done

done:
  %keep = icmp slt i32 %more, 7
  ret i1 %keep
}
