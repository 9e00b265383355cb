; expect: @mask_mod: `%a = call i32 @fib(i32 %n1)` calls @fib again, which is not finished
define internal i32 @fib(i32 %n) {
  %small = icmp slt i32 %n, 2
  br i1 %small, label %done, label %more

more:
  %n1 = sub i32 %n, 1
  %a = call i32 @fib(i32 %n1)
  br label %done

done:
  %r = phi i32 [ 1, %0 ], [ %a, %more ]
  ret i32 %r
}

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = call i32 @fib(i32 %q_idx)
  %keep = icmp slt i32 %x, 7
  ret i1 %keep
}
