define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr {
  %5 = sdiv i32 %2, 64
  %6 = sdiv i32 %3, 64
  %7 = load i32, ptr @kv_len, align 4
  %8 = add nsw i32 %7, 63
  %9 = sdiv i32 %8, 64
  %10 = icmp slt i32 %2, 64
  %11 = icmp slt i32 %3, 64
  %12 = or i1 %10, %11
  br i1 %12, label %57, label %13

13:                                               ; preds = %4
  %14 = sub nsw i32 %5, %6
  %15 = tail call i32 @llvm.abs.i32(i32 %14, i1 true)
  %16 = load i32, ptr @window, align 4
  %17 = sdiv i32 %16, 2
  %18 = icmp sgt i32 %15, %17
  br i1 %18, label %19, label %57

19:                                               ; preds = %13
  %20 = mul nsw i32 %1, 1000003
  %21 = mul nuw nsw i32 %5, 3
  %22 = add nsw i32 %21, %20
  %23 = lshr i32 %22, 16
  %24 = xor i32 %23, %22
  %25 = mul i32 %24, -2048144789
  %26 = lshr i32 %25, 13
  %27 = xor i32 %26, %25
  %28 = mul i32 %27, -1028477387
  %29 = lshr i32 %28, 16
  %30 = xor i32 %29, %28
  %31 = urem i32 %30, %9
  %32 = icmp eq i32 %31, %6
  br i1 %32, label %57, label %33

33:                                               ; preds = %19
  %34 = add nsw i32 %22, 1
  %35 = lshr i32 %34, 16
  %36 = xor i32 %35, %34
  %37 = mul i32 %36, -2048144789
  %38 = lshr i32 %37, 13
  %39 = xor i32 %38, %37
  %40 = mul i32 %39, -1028477387
  %41 = lshr i32 %40, 16
  %42 = xor i32 %41, %40
  %43 = urem i32 %42, %9
  %44 = icmp eq i32 %43, %6
  br i1 %44, label %57, label %45

45:                                               ; preds = %33
  %46 = add nsw i32 %22, 2
  %47 = lshr i32 %46, 16
  %48 = xor i32 %47, %46
  %49 = mul i32 %48, -2048144789
  %50 = lshr i32 %49, 13
  %51 = xor i32 %50, %49
  %52 = mul i32 %51, -1028477387
  %53 = lshr i32 %52, 16
  %54 = xor i32 %53, %52
  %55 = urem i32 %54, %9
  %56 = icmp eq i32 %55, %6
  br label %57

57:                                               ; preds = %45, %33, %19, %13, %4
  %58 = phi i1 [ true, %4 ], [ true, %13 ], [ true, %19 ], [ true, %33 ], [ %56, %45 ]
  ret i1 %58
}
