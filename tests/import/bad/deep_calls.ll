; expect: @mask_mod: calls nest more than 64 deep, at @f63
define internal i32 @f0(i32 %x) {
  %r = call i32 @f1(i32 %x)
  ret i32 %r
}
define internal i32 @f1(i32 %x) {
  %r = call i32 @f2(i32 %x)
  ret i32 %r
}
define internal i32 @f2(i32 %x) {
  %r = call i32 @f3(i32 %x)
  ret i32 %r
}
define internal i32 @f3(i32 %x) {
  %r = call i32 @f4(i32 %x)
  ret i32 %r
}
define internal i32 @f4(i32 %x) {
  %r = call i32 @f5(i32 %x)
  ret i32 %r
}
define internal i32 @f5(i32 %x) {
  %r = call i32 @f6(i32 %x)
  ret i32 %r
}
define internal i32 @f6(i32 %x) {
  %r = call i32 @f7(i32 %x)
  ret i32 %r
}
define internal i32 @f7(i32 %x) {
  %r = call i32 @f8(i32 %x)
  ret i32 %r
}
define internal i32 @f8(i32 %x) {
  %r = call i32 @f9(i32 %x)
  ret i32 %r
}
define internal i32 @f9(i32 %x) {
  %r = call i32 @f10(i32 %x)
  ret i32 %r
}
define internal i32 @f10(i32 %x) {
  %r = call i32 @f11(i32 %x)
  ret i32 %r
}
define internal i32 @f11(i32 %x) {
  %r = call i32 @f12(i32 %x)
  ret i32 %r
}
define internal i32 @f12(i32 %x) {
  %r = call i32 @f13(i32 %x)
  ret i32 %r
}
define internal i32 @f13(i32 %x) {
  %r = call i32 @f14(i32 %x)
  ret i32 %r
}
define internal i32 @f14(i32 %x) {
  %r = call i32 @f15(i32 %x)
  ret i32 %r
}
define internal i32 @f15(i32 %x) {
  %r = call i32 @f16(i32 %x)
  ret i32 %r
}
define internal i32 @f16(i32 %x) {
  %r = call i32 @f17(i32 %x)
  ret i32 %r
}
define internal i32 @f17(i32 %x) {
  %r = call i32 @f18(i32 %x)
  ret i32 %r
}
define internal i32 @f18(i32 %x) {
  %r = call i32 @f19(i32 %x)
  ret i32 %r
}
define internal i32 @f19(i32 %x) {
  %r = call i32 @f20(i32 %x)
  ret i32 %r
}
define internal i32 @f20(i32 %x) {
  %r = call i32 @f21(i32 %x)
  ret i32 %r
}
define internal i32 @f21(i32 %x) {
  %r = call i32 @f22(i32 %x)
  ret i32 %r
}
define internal i32 @f22(i32 %x) {
  %r = call i32 @f23(i32 %x)
  ret i32 %r
}
define internal i32 @f23(i32 %x) {
  %r = call i32 @f24(i32 %x)
  ret i32 %r
}
define internal i32 @f24(i32 %x) {
  %r = call i32 @f25(i32 %x)
  ret i32 %r
}
define internal i32 @f25(i32 %x) {
  %r = call i32 @f26(i32 %x)
  ret i32 %r
}
define internal i32 @f26(i32 %x) {
  %r = call i32 @f27(i32 %x)
  ret i32 %r
}
define internal i32 @f27(i32 %x) {
  %r = call i32 @f28(i32 %x)
  ret i32 %r
}
define internal i32 @f28(i32 %x) {
  %r = call i32 @f29(i32 %x)
  ret i32 %r
}
define internal i32 @f29(i32 %x) {
  %r = call i32 @f30(i32 %x)
  ret i32 %r
}
define internal i32 @f30(i32 %x) {
  %r = call i32 @f31(i32 %x)
  ret i32 %r
}
define internal i32 @f31(i32 %x) {
  %r = call i32 @f32(i32 %x)
  ret i32 %r
}
define internal i32 @f32(i32 %x) {
  %r = call i32 @f33(i32 %x)
  ret i32 %r
}
define internal i32 @f33(i32 %x) {
  %r = call i32 @f34(i32 %x)
  ret i32 %r
}
define internal i32 @f34(i32 %x) {
  %r = call i32 @f35(i32 %x)
  ret i32 %r
}
define internal i32 @f35(i32 %x) {
  %r = call i32 @f36(i32 %x)
  ret i32 %r
}
define internal i32 @f36(i32 %x) {
  %r = call i32 @f37(i32 %x)
  ret i32 %r
}
define internal i32 @f37(i32 %x) {
  %r = call i32 @f38(i32 %x)
  ret i32 %r
}
define internal i32 @f38(i32 %x) {
  %r = call i32 @f39(i32 %x)
  ret i32 %r
}
define internal i32 @f39(i32 %x) {
  %r = call i32 @f40(i32 %x)
  ret i32 %r
}
define internal i32 @f40(i32 %x) {
  %r = call i32 @f41(i32 %x)
  ret i32 %r
}
define internal i32 @f41(i32 %x) {
  %r = call i32 @f42(i32 %x)
  ret i32 %r
}
define internal i32 @f42(i32 %x) {
  %r = call i32 @f43(i32 %x)
  ret i32 %r
}
define internal i32 @f43(i32 %x) {
  %r = call i32 @f44(i32 %x)
  ret i32 %r
}
define internal i32 @f44(i32 %x) {
  %r = call i32 @f45(i32 %x)
  ret i32 %r
}
define internal i32 @f45(i32 %x) {
  %r = call i32 @f46(i32 %x)
  ret i32 %r
}
define internal i32 @f46(i32 %x) {
  %r = call i32 @f47(i32 %x)
  ret i32 %r
}
define internal i32 @f47(i32 %x) {
  %r = call i32 @f48(i32 %x)
  ret i32 %r
}
define internal i32 @f48(i32 %x) {
  %r = call i32 @f49(i32 %x)
  ret i32 %r
}
define internal i32 @f49(i32 %x) {
  %r = call i32 @f50(i32 %x)
  ret i32 %r
}
define internal i32 @f50(i32 %x) {
  %r = call i32 @f51(i32 %x)
  ret i32 %r
}
define internal i32 @f51(i32 %x) {
  %r = call i32 @f52(i32 %x)
  ret i32 %r
}
define internal i32 @f52(i32 %x) {
  %r = call i32 @f53(i32 %x)
  ret i32 %r
}
define internal i32 @f53(i32 %x) {
  %r = call i32 @f54(i32 %x)
  ret i32 %r
}
define internal i32 @f54(i32 %x) {
  %r = call i32 @f55(i32 %x)
  ret i32 %r
}
define internal i32 @f55(i32 %x) {
  %r = call i32 @f56(i32 %x)
  ret i32 %r
}
define internal i32 @f56(i32 %x) {
  %r = call i32 @f57(i32 %x)
  ret i32 %r
}
define internal i32 @f57(i32 %x) {
  %r = call i32 @f58(i32 %x)
  ret i32 %r
}
define internal i32 @f58(i32 %x) {
  %r = call i32 @f59(i32 %x)
  ret i32 %r
}
define internal i32 @f59(i32 %x) {
  %r = call i32 @f60(i32 %x)
  ret i32 %r
}
define internal i32 @f60(i32 %x) {
  %r = call i32 @f61(i32 %x)
  ret i32 %r
}
define internal i32 @f61(i32 %x) {
  %r = call i32 @f62(i32 %x)
  ret i32 %r
}
define internal i32 @f62(i32 %x) {
  %r = call i32 @f63(i32 %x)
  ret i32 %r
}
define internal i32 @f63(i32 %x) {
  %r = call i32 @f64(i32 %x)
  ret i32 %r
}
define internal i32 @f64(i32 %x) {
  %r = call i32 @f65(i32 %x)
  ret i32 %r
}
define internal i32 @f65(i32 %x) {
  %r = call i32 @f66(i32 %x)
  ret i32 %r
}
define internal i32 @f66(i32 %x) {
  %r = call i32 @f67(i32 %x)
  ret i32 %r
}
define internal i32 @f67(i32 %x) {
  %r = call i32 @f68(i32 %x)
  ret i32 %r
}
define internal i32 @f68(i32 %x) {
  %r = call i32 @f69(i32 %x)
  ret i32 %r
}
define internal i32 @f69(i32 %x) {
  %r = call i32 @f70(i32 %x)
  ret i32 %r
}
define internal i32 @f70(i32 %x) {
  ret i32 %x
}

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %x = call i32 @f0(i32 %q_idx)
  %keep = icmp slt i32 %x, 7
  ret i1 %keep
}
