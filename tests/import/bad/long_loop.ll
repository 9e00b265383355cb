; expect: @mask_mod: the loop at `br i1 %again, label %loop, label %done` takes 4000 iterations of 9 instructions; at most 8192 instructions are taken
@doc = external constant [0 x i32]

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %wide = sext i32 %i to i64
  %at = getelementptr i32, ptr @doc, i64 %wide
  %d = load i32, ptr %at
  %more = add i32 %sum, %d
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, 4000
  br i1 %again, label %loop, label %done

done:
  %keep = icmp slt i32 %more, 7
  ret i1 %keep
}
