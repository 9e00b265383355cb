; expect: @mask_mod: `%x = extractelement <vscale x 4 x i32> %c, i64 1` is a vector instruction
define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %a = insertelement <vscale x 4 x i32> zeroinitializer, i32 %q_idx, i64 0
  %c = mul <vscale x 4 x i32> %a, %a
  %x = extractelement <vscale x 4 x i32> %c, i64 1
  %keep = icmp slt i32 %x, %kv_idx
  ret i1 %keep
}
