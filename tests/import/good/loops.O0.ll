; ModuleID = 'loops.c'
source_filename = "loops.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@q_len = external constant i32, align 4
@topk = external constant [0 x i32], align 4
@window = external constant i32, align 4
@taps = external constant [0 x float], align 4

; Function Attrs: noinline nounwind optnone uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) #0 {
  %5 = alloca i1, align 1
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca ptr, align 8
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca i32, align 4
  %15 = alloca i32, align 4
  store i32 %0, ptr %6, align 4
  store i32 %1, ptr %7, align 4
  store i32 %2, ptr %8, align 4
  store i32 %3, ptr %9, align 4
  %16 = load i32, ptr @q_len, align 4
  %17 = add nsw i32 %16, 7
  %18 = sdiv i32 %17, 8
  store i32 %18, ptr %10, align 4
  %19 = load i32, ptr %7, align 4
  %20 = sext i32 %19 to i64
  %21 = load i32, ptr %10, align 4
  %22 = sext i32 %21 to i64
  %23 = mul nsw i64 %20, %22
  %24 = load i32, ptr %8, align 4
  %25 = sdiv i32 %24, 8
  %26 = sext i32 %25 to i64
  %27 = add nsw i64 %23, %26
  %28 = mul nsw i64 %27, 4
  %29 = getelementptr inbounds i32, ptr @topk, i64 %28
  store ptr %29, ptr %11, align 8
  store i32 0, ptr %12, align 4
  br label %30

30:                                               ; preds = %44, %4
  %31 = load i32, ptr %12, align 4
  %32 = icmp slt i32 %31, 4
  br i1 %32, label %33, label %47

33:                                               ; preds = %30
  %34 = load ptr, ptr %11, align 8
  %35 = load i32, ptr %12, align 4
  %36 = sext i32 %35 to i64
  %37 = getelementptr inbounds i32, ptr %34, i64 %36
  %38 = load i32, ptr %37, align 4
  %39 = load i32, ptr %9, align 4
  %40 = sdiv i32 %39, 8
  %41 = icmp eq i32 %38, %40
  br i1 %41, label %42, label %43

42:                                               ; preds = %33
  store i1 true, ptr %5, align 1
  br label %86

43:                                               ; preds = %33
  br label %44

44:                                               ; preds = %43
  %45 = load i32, ptr %12, align 4
  %46 = add nsw i32 %45, 1
  store i32 %46, ptr %12, align 4
  br label %30, !llvm.loop !6

47:                                               ; preds = %30
  store i32 0, ptr %13, align 4
  store i32 0, ptr %14, align 4
  br label %48

48:                                               ; preds = %80, %47
  %49 = load i32, ptr %14, align 4
  %50 = icmp slt i32 %49, 3
  br i1 %50, label %51, label %55

51:                                               ; preds = %48
  %52 = load i32, ptr %14, align 4
  %53 = load i32, ptr @window, align 4
  %54 = icmp slt i32 %52, %53
  br label %55

55:                                               ; preds = %51, %48
  %56 = phi i1 [ false, %48 ], [ %54, %51 ]
  br i1 %56, label %57, label %83

57:                                               ; preds = %55
  store i32 0, ptr %15, align 4
  br label %58

58:                                               ; preds = %76, %57
  %59 = load i32, ptr %15, align 4
  %60 = load i32, ptr %14, align 4
  %61 = icmp sle i32 %59, %60
  br i1 %61, label %62, label %79

62:                                               ; preds = %58
  %63 = load i32, ptr %8, align 4
  %64 = load i32, ptr %9, align 4
  %65 = xor i32 %63, %64
  %66 = load i32, ptr %14, align 4
  %67 = load i32, ptr %15, align 4
  %68 = add nsw i32 %66, %67
  %69 = add nsw i32 %68, 2
  %70 = srem i32 %65, %69
  %71 = load i32, ptr %15, align 4
  %72 = icmp eq i32 %70, %71
  %73 = zext i1 %72 to i32
  %74 = load i32, ptr %13, align 4
  %75 = add nsw i32 %74, %73
  store i32 %75, ptr %13, align 4
  br label %76

76:                                               ; preds = %62
  %77 = load i32, ptr %15, align 4
  %78 = add nsw i32 %77, 1
  store i32 %78, ptr %15, align 4
  br label %58, !llvm.loop !8

79:                                               ; preds = %58
  br label %80

80:                                               ; preds = %79
  %81 = load i32, ptr %14, align 4
  %82 = add nsw i32 %81, 1
  store i32 %82, ptr %14, align 4
  br label %48, !llvm.loop !9

83:                                               ; preds = %55
  %84 = load i32, ptr %13, align 4
  %85 = icmp sgt i32 %84, 3
  store i1 %85, ptr %5, align 1
  br label %86

86:                                               ; preds = %83, %42
  %87 = load i1, ptr %5, align 1
  ret i1 %87
}

; Function Attrs: noinline nounwind optnone uwtable
define dso_local float @score_mod(float noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4) #0 {
  %6 = alloca float, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca float, align 4
  %12 = alloca i32, align 4
  store float %0, ptr %6, align 4
  store i32 %1, ptr %7, align 4
  store i32 %2, ptr %8, align 4
  store i32 %3, ptr %9, align 4
  store i32 %4, ptr %10, align 4
  store float 0.000000e+00, ptr %11, align 4
  store i32 0, ptr %12, align 4
  br label %13

13:                                               ; preds = %32, %5
  %14 = load i32, ptr %12, align 4
  %15 = icmp slt i32 %14, 6
  br i1 %15, label %16, label %35

16:                                               ; preds = %13
  %17 = load i32, ptr %12, align 4
  %18 = load i32, ptr %9, align 4
  %19 = icmp sgt i32 %17, %18
  br i1 %19, label %20, label %21

20:                                               ; preds = %16
  br label %35

21:                                               ; preds = %16
  %22 = load i32, ptr %12, align 4
  %23 = sext i32 %22 to i64
  %24 = getelementptr inbounds [0 x float], ptr @taps, i64 0, i64 %23
  %25 = load float, ptr %24, align 4
  %26 = load i32, ptr %10, align 4
  %27 = load i32, ptr %12, align 4
  %28 = sub nsw i32 %26, %27
  %29 = sitofp i32 %28 to float
  %30 = load float, ptr %11, align 4
  %31 = call float @llvm.fmuladd.f32(float %25, float %29, float %30)
  store float %31, ptr %11, align 4
  br label %32

32:                                               ; preds = %21
  %33 = load i32, ptr %12, align 4
  %34 = add nsw i32 %33, 1
  store i32 %34, ptr %12, align 4
  br label %13, !llvm.loop !10

35:                                               ; preds = %20, %13
  %36 = load float, ptr %6, align 4
  %37 = load float, ptr %11, align 4
  %38 = call float @llvm.fmuladd.f32(float %37, float 0x3F847AE140000000, float %36)
  ret float %38
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
!6 = distinct !{!6, !7}
!7 = !{!"llvm.loop.mustprogress"}
!8 = distinct !{!8, !7}
!9 = distinct !{!9, !7}
!10 = distinct !{!10, !7}
