@window = external constant i32
@doc = external global [0 x i32]

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
entry:
  %w = load i32, ptr @window
  br label %next

next:
  %i = phi i32 [ 0, %entry ], [ %j, %again ]
  %at = add i32 %kv_idx, %i
  %p = getelementptr i32, ptr @doc, i32 %at
  %d = load i32, ptr %p
  %is = icmp eq i32 %d, %q_idx
  br i1 %is, label %yes, label %again

again:
  %j = add nuw nsw i32 %i, 1
  %more = icmp ult i32 %j, 5
  br i1 %more, label %next, label %no

yes:
  ret i1 true

no:
  %late = icmp sgt i32 %q_idx, %w
  ret i1 %late
}
