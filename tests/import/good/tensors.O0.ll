; ModuleID = 'tensors.c'
source_filename = "tensors.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@q_len = external constant i32, align 4
@kv_len = external constant i32, align 4
@window = external constant i32, align 4
@bias = external constant [0 x float], align 4
@relative = external constant [0 x float], align 4
@halves = external constant [0 x [16 x half]], align 2
@flags = external constant [0 x i8], align 1
@small = external global ptr, align 8

; Function Attrs: noinline nounwind optnone uwtable
define dso_local float @score_mod(float noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4) #0 {
  %6 = alloca float, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i64, align 8
  %12 = alloca i32, align 4
  store float %0, ptr %6, align 4
  store i32 %1, ptr %7, align 4
  store i32 %2, ptr %8, align 4
  store i32 %3, ptr %9, align 4
  store i32 %4, ptr %10, align 4
  %13 = load i32, ptr %8, align 4
  %14 = sext i32 %13 to i64
  %15 = load i32, ptr @q_len, align 4
  %16 = sext i32 %15 to i64
  %17 = mul i64 %14, %16
  %18 = load i32, ptr %9, align 4
  %19 = sext i32 %18 to i64
  %20 = add i64 %17, %19
  %21 = load i32, ptr @kv_len, align 4
  %22 = sext i32 %21 to i64
  %23 = mul i64 %20, %22
  %24 = load i32, ptr %10, align 4
  %25 = sext i32 %24 to i64
  %26 = add i64 %23, %25
  store i64 %26, ptr %11, align 8
  %27 = load i32, ptr %10, align 4
  %28 = load i32, ptr %9, align 4
  %29 = sub nsw i32 %27, %28
  %30 = load i32, ptr @window, align 4
  %31 = sub nsw i32 0, %30
  %32 = load i32, ptr @window, align 4
  %33 = call i32 @clamp(i32 noundef %29, i32 noundef %31, i32 noundef %32)
  %34 = load i32, ptr @window, align 4
  %35 = add nsw i32 %33, %34
  store i32 %35, ptr %12, align 4
  %36 = load float, ptr %6, align 4
  %37 = load i64, ptr %11, align 8
  %38 = getelementptr inbounds [0 x float], ptr @bias, i64 0, i64 %37
  %39 = load float, ptr %38, align 4
  %40 = fadd float %36, %39
  %41 = load i32, ptr %8, align 4
  %42 = load i32, ptr @window, align 4
  %43 = mul nsw i32 2, %42
  %44 = add nsw i32 %43, 1
  %45 = mul nsw i32 %41, %44
  %46 = load i32, ptr %12, align 4
  %47 = add nsw i32 %45, %46
  %48 = sext i32 %47 to i64
  %49 = getelementptr inbounds [0 x float], ptr @relative, i64 0, i64 %48
  %50 = load float, ptr %49, align 4
  %51 = fadd float %40, %50
  %52 = load i32, ptr %8, align 4
  %53 = sext i32 %52 to i64
  %54 = getelementptr inbounds [0 x [16 x half]], ptr @halves, i64 0, i64 %53
  %55 = load i32, ptr %10, align 4
  %56 = and i32 %55, 15
  %57 = sext i32 %56 to i64
  %58 = getelementptr inbounds [16 x half], ptr %54, i64 0, i64 %57
  %59 = load half, ptr %58, align 2
  %60 = fpext half %59 to float
  %61 = fadd float %51, %60
  ret float %61
}

; Function Attrs: noinline nounwind optnone uwtable
define internal i32 @clamp(i32 noundef %0, i32 noundef %1, i32 noundef %2) #0 {
  %4 = alloca i32, align 4
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  store i32 %0, ptr %4, align 4
  store i32 %1, ptr %5, align 4
  store i32 %2, ptr %6, align 4
  %7 = load i32, ptr %4, align 4
  %8 = load i32, ptr %5, align 4
  %9 = icmp slt i32 %7, %8
  br i1 %9, label %10, label %12

10:                                               ; preds = %3
  %11 = load i32, ptr %5, align 4
  br label %22

12:                                               ; preds = %3
  %13 = load i32, ptr %4, align 4
  %14 = load i32, ptr %6, align 4
  %15 = icmp sgt i32 %13, %14
  br i1 %15, label %16, label %18

16:                                               ; preds = %12
  %17 = load i32, ptr %6, align 4
  br label %20

18:                                               ; preds = %12
  %19 = load i32, ptr %4, align 4
  br label %20

20:                                               ; preds = %18, %16
  %21 = phi i32 [ %17, %16 ], [ %19, %18 ]
  br label %22

22:                                               ; preds = %20, %10
  %23 = phi i32 [ %11, %10 ], [ %21, %20 ]
  ret i32 %23
}

; Function Attrs: noinline nounwind optnone uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) #0 {
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  store i32 %0, ptr %5, align 4
  store i32 %1, ptr %6, align 4
  store i32 %2, ptr %7, align 4
  store i32 %3, ptr %8, align 4
  %9 = load i32, ptr %5, align 4
  %10 = load i32, ptr @kv_len, align 4
  %11 = mul nsw i32 %9, %10
  %12 = load i32, ptr %8, align 4
  %13 = add nsw i32 %11, %12
  %14 = sext i32 %13 to i64
  %15 = getelementptr inbounds [0 x i8], ptr @flags, i64 0, i64 %14
  %16 = load i8, ptr %15, align 1
  %17 = trunc i8 %16 to i1
  br i1 %17, label %39, label %18

18:                                               ; preds = %4
  %19 = load ptr, ptr @small, align 8
  %20 = load i32, ptr %8, align 4
  %21 = sext i32 %20 to i64
  %22 = getelementptr inbounds i8, ptr %19, i64 %21
  %23 = load i8, ptr %22, align 1
  %24 = sext i8 %23 to i32
  %25 = load i32, ptr %7, align 4
  %26 = and i32 %25, 7
  %27 = icmp eq i32 %24, %26
  br i1 %27, label %39, label %28

28:                                               ; preds = %18
  %29 = load i32, ptr %5, align 4
  %30 = load i32, ptr @kv_len, align 4
  %31 = mul nsw i32 %29, %30
  %32 = load i32, ptr %8, align 4
  %33 = add nsw i32 %31, %32
  %34 = add nsw i32 %33, 1
  %35 = sext i32 %34 to i64
  %36 = getelementptr inbounds [0 x i8], ptr @flags, i64 0, i64 %35
  %37 = load i8, ptr %36, align 1
  %38 = trunc i8 %37 to i1
  br label %39

39:                                               ; preds = %28, %18, %4
  %40 = phi i1 [ true, %18 ], [ true, %4 ], [ %38, %28 ]
  ret i1 %40
}

attributes #0 = { noinline nounwind optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }

!llvm.module.flags = !{!0, !1, !2, !3, !4}
!llvm.ident = !{!5}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 8, !"PIC Level", i32 2}
!2 = !{i32 7, !"PIE Level", i32 2}
!3 = !{i32 7, !"uwtable", i32 2}
!4 = !{i32 7, !"frame-pointer", i32 2}
!5 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
