; ModuleID = 'tables.c'
source_filename = "tables.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@widths = internal constant [5 x i32] [i32 3, i32 1, i32 4, i32 1, i32 5], align 16
@steps = internal constant [2 x [3 x i8]] [[3 x i8] c"\01\02\03", [3 x i8] c"\FC\05\FA"], align 1

; Function Attrs: noinline nounwind optnone uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) #0 {
  %5 = alloca i1, align 1
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  store i32 %0, ptr %6, align 4
  store i32 %1, ptr %7, align 4
  store i32 %2, ptr %8, align 4
  store i32 %3, ptr %9, align 4
  %10 = load i32, ptr %9, align 4
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %12, label %13

12:                                               ; preds = %4
  store i1 true, ptr %5, align 1
  br label %46

13:                                               ; preds = %4
  %14 = load i32, ptr %8, align 4
  %15 = load i32, ptr %9, align 4
  %16 = icmp slt i32 %14, %15
  br i1 %16, label %17, label %18

17:                                               ; preds = %13
  store i1 false, ptr %5, align 1
  br label %46

18:                                               ; preds = %13
  %19 = load i32, ptr %8, align 4
  %20 = load i32, ptr %9, align 4
  %21 = sub nsw i32 %19, %20
  %22 = load i32, ptr %7, align 4
  %23 = srem i32 %22, 5
  %24 = sext i32 %23 to i64
  %25 = getelementptr inbounds [5 x i32], ptr @widths, i64 0, i64 %24
  %26 = load i32, ptr %25, align 4
  %27 = srem i32 %21, %26
  %28 = icmp eq i32 %27, 0
  br i1 %28, label %44, label %29

29:                                               ; preds = %18
  %30 = load i32, ptr %9, align 4
  %31 = load i32, ptr %6, align 4
  %32 = and i32 %31, 1
  %33 = sext i32 %32 to i64
  %34 = getelementptr inbounds [2 x [3 x i8]], ptr @steps, i64 0, i64 %33
  %35 = load i32, ptr %8, align 4
  %36 = srem i32 %35, 3
  %37 = sext i32 %36 to i64
  %38 = getelementptr inbounds [3 x i8], ptr %34, i64 0, i64 %37
  %39 = load i8, ptr %38, align 1
  %40 = sext i8 %39 to i32
  %41 = add nsw i32 %30, %40
  %42 = load i32, ptr %8, align 4
  %43 = icmp eq i32 %41, %42
  br label %44

44:                                               ; preds = %29, %18
  %45 = phi i1 [ true, %18 ], [ %43, %29 ]
  store i1 %45, ptr %5, align 1
  br label %46

46:                                               ; preds = %44, %17, %12
  %47 = load i1, ptr %5, align 1
  ret i1 %47
}

; Function Attrs: noinline nounwind optnone uwtable
define dso_local float @score_mod(float noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4) #0 {
  %6 = alloca float, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  store float %0, ptr %6, align 4
  store i32 %1, ptr %7, align 4
  store i32 %2, ptr %8, align 4
  store i32 %3, ptr %9, align 4
  store i32 %4, ptr %10, align 4
  %11 = load float, ptr %6, align 4
  %12 = load i32, ptr %8, align 4
  %13 = call float @weight(i32 noundef %12)
  %14 = load i32, ptr %7, align 4
  %15 = call float @weight(i32 noundef %14)
  %16 = call float @llvm.fmuladd.f32(float %11, float %13, float %15)
  ret float %16
}

; Function Attrs: noinline nounwind optnone uwtable
define internal float @weight(i32 noundef %0) #0 {
  %2 = alloca float, align 4
  %3 = alloca i32, align 4
  store i32 %0, ptr %3, align 4
  %4 = load i32, ptr %3, align 4
  %5 = and i32 %4, 3
  switch i32 %5, label %9 [
    i32 0, label %6
    i32 1, label %7
    i32 3, label %8
  ]

6:                                                ; preds = %1
  store float 5.000000e-01, ptr %2, align 4
  br label %10

7:                                                ; preds = %1
  store float 2.000000e+00, ptr %2, align 4
  br label %10

8:                                                ; preds = %1
  store float -1.250000e+00, ptr %2, align 4
  br label %10

9:                                                ; preds = %1
  store float 0.000000e+00, ptr %2, align 4
  br label %10

10:                                               ; preds = %9, %8, %7, %6
  %11 = load float, ptr %2, align 4
  ret float %11
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fmuladd.f32(float, float, float) #1

attributes #0 = { noinline nounwind optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0, !1, !2, !3, !4}
!llvm.ident = !{!5}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 8, !"PIC Level", i32 2}
!2 = !{i32 7, !"PIE Level", i32 2}
!3 = !{i32 7, !"uwtable", i32 2}
!4 = !{i32 7, !"frame-pointer", i32 2}
!5 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
