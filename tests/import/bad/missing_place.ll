; expect: @mask_mod: `%a = insertelement <4 x i32> zeroinitializer, i32 %q_idx, i32 4` asks for an element past the 4 of its vector
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %a = insertelement <4 x i32> zeroinitializer, i32 %q_idx, i32 4
  %x = extractelement <4 x i32> %a, i64 0
  %keep = icmp slt i32 %x, %kv_idx
  ret i1 %keep
}
