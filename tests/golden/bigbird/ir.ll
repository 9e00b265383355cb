; ModuleID = 'bigbird'
source_filename = "bigbird"

; Function Attrs: nofree nosync nounwind willreturn memory(none)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, i32 noundef %p.window) #0 {
entry:
  %0 = icmp slt i32 %q_idx, 64
  %1 = icmp slt i32 %kv_idx, 64
  %2 = or i1 %0, %1
  %3 = xor i1 %2, true
  %4 = icmp slt i32 %p.window, 0
  %choice = select i1 %4, i32 1, i32 0
  %sum = add i32 %p.window, %choice
  %quotient = ashr i32 %sum, 1
  %5 = call i32 @llvm.smax.i32(i32 %quotient, i32 -524287)
  %6 = call i32 @llvm.smin.i32(i32 %5, i32 524287)
  %side = sub nsw i32 0, %6
  %quotient1 = ashr i32 %q_idx, 6
  %side2 = add nsw i32 %side, %quotient1
  %quotient3 = ashr i32 %kv_idx, 6
  %7 = icmp sgt i32 %side2, %quotient3
  %side4 = add nsw i32 %6, %quotient1
  %8 = icmp sgt i32 %quotient3, %side4
  %9 = or i1 %7, %8
  %10 = and i1 %3, %9
  %product = mul nsw i32 %quotient1, 3
  %product5 = mul i32 %h, 1000003
  %sum6 = add i32 %product, %product5
  %shifted = ashr i32 %sum6, 16
  %11 = and i32 %shifted, 65535
  %12 = xor i32 %11, %sum6
  %product7 = mul i32 %12, -2048144789
  %shifted8 = ashr i32 %product7, 13
  %13 = and i32 %shifted8, 524287
  %14 = xor i32 %13, %product7
  %product9 = mul i32 %14, -1028477387
  %shifted10 = ashr i32 %product9, 16
  %15 = and i32 %shifted10, 65535
  %16 = xor i32 %15, %product9
  %shifted11 = ashr i32 %16, 1
  %17 = and i32 %shifted11, 2147483647
  %sum12 = add nsw i32 %kv_len, 63
  %quotient13 = ashr i32 %sum12, 6
  %quotient14 = udiv i32 %17, %quotient13
  %shifted15 = shl i32 %quotient14, 1
  %product16 = mul i32 %shifted15, %quotient13
  %difference = sub i32 %16, %product16
  %18 = icmp sge i32 %difference, 0
  %19 = icmp slt i32 %difference, %quotient13
  %20 = and i1 %18, %19
  %21 = xor i1 %20, true
  %22 = zext i1 %21 to i32
  %sum17 = add i32 %shifted15, %22
  %product18 = mul i32 %sum17, %quotient13
  %difference19 = sub i32 %16, %product18
  %23 = icmp ne i32 %difference19, %quotient3
  %24 = and i1 %10, %23
  %sum21 = add i32 %sum6, 1
  %shifted22 = ashr i32 %sum21, 16
  %25 = and i32 %shifted22, 65535
  %26 = xor i32 %25, %sum21
  %product23 = mul i32 %26, -2048144789
  %shifted24 = ashr i32 %product23, 13
  %27 = and i32 %shifted24, 524287
  %28 = xor i32 %27, %product23
  %product25 = mul i32 %28, -1028477387
  %shifted26 = ashr i32 %product25, 16
  %29 = and i32 %shifted26, 65535
  %30 = xor i32 %29, %product25
  %shifted27 = ashr i32 %30, 1
  %31 = and i32 %shifted27, 2147483647
  %quotient28 = udiv i32 %31, %quotient13
  %shifted29 = shl i32 %quotient28, 1
  %product30 = mul i32 %shifted29, %quotient13
  %difference31 = sub i32 %30, %product30
  %32 = icmp sge i32 %difference31, 0
  %33 = icmp slt i32 %difference31, %quotient13
  %34 = and i1 %32, %33
  %35 = xor i1 %34, true
  %36 = zext i1 %35 to i32
  %sum32 = add i32 %shifted29, %36
  %product33 = mul i32 %sum32, %quotient13
  %difference34 = sub i32 %30, %product33
  %37 = icmp ne i32 %difference34, %quotient3
  %38 = and i1 %24, %37
  %39 = xor i1 %38, true
  %sum36 = add i32 %sum6, 2
  %shifted37 = ashr i32 %sum36, 16
  %40 = and i32 %shifted37, 65535
  %41 = xor i32 %40, %sum36
  %product38 = mul i32 %41, -2048144789
  %shifted39 = ashr i32 %product38, 13
  %42 = and i32 %shifted39, 524287
  %43 = xor i32 %42, %product38
  %product40 = mul i32 %43, -1028477387
  %shifted41 = ashr i32 %product40, 16
  %44 = and i32 %shifted41, 65535
  %45 = xor i32 %44, %product40
  %shifted42 = ashr i32 %45, 1
  %46 = and i32 %shifted42, 2147483647
  %quotient43 = udiv i32 %46, %quotient13
  %shifted44 = shl i32 %quotient43, 1
  %product45 = mul i32 %shifted44, %quotient13
  %difference46 = sub i32 %45, %product45
  %47 = icmp sge i32 %difference46, 0
  %48 = icmp slt i32 %difference46, %quotient13
  %49 = and i1 %47, %48
  %50 = xor i1 %49, true
  %51 = zext i1 %50 to i32
  %sum47 = add i32 %shifted44, %51
  %product48 = mul i32 %sum47, %quotient13
  %difference49 = sub i32 %45, %product48
  %52 = icmp eq i32 %difference49, %quotient3
  %53 = or i1 %39, %52
  ret i1 %53
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #1

attributes #0 = { nofree nosync nounwind willreturn memory(none) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
