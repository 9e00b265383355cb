; expect: @score_mod: the result nests 601 operations deep; at most 400 are taken
define float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %x = phi float [ %score, %entry ], [ %y, %loop ]
  %half = fmul float %x, 5.000000e-01
  %y = fadd float %half, 1.000000e+00
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, 300
  br i1 %again, label %loop, label %done

done:
  ret float %y
}
