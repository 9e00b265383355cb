; ModuleID = 'dilated'
source_filename = "dilated"

; Function Attrs: nofree nosync nounwind willreturn memory(none)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, i32 noundef %p.window, i32 noundef %p.dilation) #0 {
entry:
  %side = sub nsw i32 %kv_len, %q_len
  %side1 = add nsw i32 %side, %q_idx
  %0 = icmp sge i32 %side1, %kv_idx
  %product = mul i32 %p.window, %p.dilation
  %1 = call i32 @llvm.smax.i32(i32 %product, i32 -67108863)
  %2 = call i32 @llvm.smin.i32(i32 %1, i32 67108863)
  %side3 = sub nsw i32 %side, %2
  %side4 = add nsw i32 %side3, %q_idx
  %3 = icmp slt i32 %side4, %kv_idx
  %4 = and i1 %0, %3
  %5 = add i32 %p.dilation, 1
  %6 = icmp ult i32 %5, 2
  %divisor = select i1 %6, i32 1, i32 %p.dilation
  %7 = srem i32 %side1, %divisor
  %8 = xor i32 %7, %divisor
  %9 = icmp slt i32 %8, 0
  %10 = icmp ne i32 %7, 0
  %11 = and i1 %10, %9
  %12 = select i1 %11, i32 %divisor, i32 0
  %remainder = add nsw i32 %7, %12
  %13 = srem i32 %kv_idx, %divisor
  %14 = xor i32 %13, %divisor
  %15 = icmp slt i32 %14, 0
  %16 = icmp ne i32 %13, 0
  %17 = and i1 %16, %15
  %18 = select i1 %17, i32 %divisor, i32 0
  %remainder8 = add nsw i32 %13, %18
  %19 = icmp eq i32 %remainder, %remainder8
  %20 = and i1 %4, %19
  ret i1 %20
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #1

attributes #0 = { nofree nosync nounwind willreturn memory(none) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
