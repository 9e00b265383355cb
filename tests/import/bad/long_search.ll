; expect: @mask_mod: the result nests 663 operations deep; at most 400 are taken
@doc = external constant [0 x i32]

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %more ]
  %sum = phi i32 [ 0, %entry ], [ %all, %more ]
  %next = add i32 %i, 1
  %wide = sext i32 %i to i64
  %at = getelementptr i32, ptr @doc, i64 %wide
  %d = load i32, ptr %at
  %found = icmp eq i32 %d, %kv_idx
  br i1 %found, label %done, label %more

more:
  %all = add i32 %sum, %d
  %again = icmp slt i32 %next, 600
  br i1 %again, label %loop, label %done

done:
  %result = phi i32 [ %sum, %loop ], [ %all, %more ]
  %keep = icmp slt i32 %result, 7
  ret i1 %keep
}
