; expect: @mask_mod: `%w = load i32, ptr @state, align 4` reads '@state', which may change
@state = internal global i32 3

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %w = load i32, ptr @state
  %keep = icmp slt i32 %w, %q_idx
  ret i1 %keep
}

define void @change(i32 %x) {
  store i32 %x, ptr @state
  ret void
}
