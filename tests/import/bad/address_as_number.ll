; expect: @mask_mod: `i32 ptrtoint (ptr @doc to i32)` is a number made of an address
@doc = external constant [0 x i32]

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = ptrtoint ptr @doc to i32
  %y = add i32 %x, %q_idx
  %keep = icmp slt i32 %y, %kv_idx
  ret i1 %keep
}
