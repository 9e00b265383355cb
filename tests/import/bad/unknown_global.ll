; expect: @mask_mod: `%w = load i32, ptr @windoww, align 4` reads '@windoww', which the spec does not declare
@windoww = external constant i32

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %w = load i32, ptr @windoww
  %keep = icmp slt i32 %w, %q_idx
  ret i1 %keep
}
