; ModuleID = 'neighbourhood_2d'
source_filename = "neighbourhood_2d"

; Function Attrs: nofree nosync nounwind willreturn memory(none)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, i32 noundef %p.width, i32 noundef %p.radius) #0 {
entry:
  %0 = call i32 @llvm.smax.i32(i32 %p.radius, i32 -33554431)
  %1 = call i32 @llvm.smin.i32(i32 %0, i32 33554431)
  %side = sub nsw i32 0, %1
  %2 = add i32 %p.width, 1
  %3 = icmp ult i32 %2, 2
  %divisor = select i1 %3, i32 1, i32 %p.width
  %4 = sdiv i32 %q_idx, %divisor
  %5 = srem i32 %q_idx, %divisor
  %6 = xor i32 %5, %divisor
  %7 = icmp slt i32 %6, 0
  %8 = icmp ne i32 %5, 0
  %9 = and i1 %8, %7
  %10 = zext i1 %9 to i32
  %quotient = sub i32 %4, %10
  %11 = sub i32 0, %q_idx
  %12 = icmp eq i32 %p.width, -1
  %quotient1 = select i1 %12, i32 %11, i32 %quotient
  %13 = icmp eq i32 %p.width, 0
  %quotient2 = select i1 %13, i32 0, i32 %quotient1
  %side3 = add nsw i32 %side, %quotient2
  %14 = sdiv i32 %kv_idx, %divisor
  %15 = srem i32 %kv_idx, %divisor
  %16 = xor i32 %15, %divisor
  %17 = icmp slt i32 %16, 0
  %18 = icmp ne i32 %15, 0
  %19 = and i1 %18, %17
  %20 = zext i1 %19 to i32
  %quotient5 = sub i32 %14, %20
  %21 = sub i32 0, %kv_idx
  %quotient6 = select i1 %12, i32 %21, i32 %quotient5
  %quotient7 = select i1 %13, i32 0, i32 %quotient6
  %22 = icmp sle i32 %side3, %quotient7
  %side8 = add nsw i32 %1, %quotient2
  %23 = icmp sle i32 %quotient7, %side8
  %24 = and i1 %22, %23
  %25 = select i1 %9, i32 %divisor, i32 0
  %remainder = add nsw i32 %5, %25
  %26 = select i1 %19, i32 %divisor, i32 0
  %remainder11 = add nsw i32 %15, %26
  %difference = sub i32 %remainder, %remainder11
  %27 = call i32 @llvm.abs.i32(i32 %difference, i1 false)
  %28 = icmp sle i32 %27, %p.radius
  %29 = and i1 %24, %28
  ret i1 %29
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.abs.i32(i32, i1 immarg) #1

attributes #0 = { nofree nosync nounwind willreturn memory(none) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
