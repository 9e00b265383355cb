; expect: @mask_mod: `call void @_RNvNtCs1_4core9panicking18panic_bounds_check(i64 0, i64 4096, ptr null)` may panic (core::panicking::panic_bounds_check)
declare void @_RNvNtCs1_4core9panicking18panic_bounds_check(i64, i64, ptr) noreturn

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
start:
  %inside = icmp ult i32 %kv_idx, 4096
  br i1 %inside, label %fine, label %panic

panic:
  call void @_RNvNtCs1_4core9panicking18panic_bounds_check(i64 0, i64 4096, ptr null)
  unreachable

fine:
  ret i1 true
}
