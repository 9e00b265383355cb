; ModuleID = 'bits.c'
source_filename = "bits.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; Function Attrs: noinline nounwind optnone uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) #0 {
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca i16, align 2
  %11 = alloca i8, align 1
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  store i32 %0, ptr %5, align 4
  store i32 %1, ptr %6, align 4
  store i32 %2, ptr %7, align 4
  store i32 %3, ptr %8, align 4
  %14 = load i32, ptr %7, align 4
  %15 = mul nsw i32 %14, 7919
  %16 = load i32, ptr %8, align 4
  %17 = add nsw i32 %15, %16
  %18 = load i32, ptr %6, align 4
  %19 = shl i32 %18, 28
  %20 = xor i32 %17, %19
  %21 = call i32 @mix(i32 noundef %20)
  store i32 %21, ptr %9, align 4
  %22 = load i32, ptr %9, align 4
  %23 = lshr i32 %22, 3
  %24 = trunc i32 %23 to i16
  store i16 %24, ptr %10, align 2
  %25 = load i32, ptr %9, align 4
  %26 = mul i32 %25, 3
  %27 = load i32, ptr %5, align 4
  %28 = add i32 %26, %27
  %29 = trunc i32 %28 to i8
  store i8 %29, ptr %11, align 1
  %30 = load i32, ptr %9, align 4
  %31 = sdiv i32 %30, 7
  %32 = load i32, ptr %9, align 4
  %33 = srem i32 %32, -5
  %34 = add nsw i32 %31, %33
  %35 = load i16, ptr %10, align 2
  %36 = sext i16 %35 to i32
  %37 = load i32, ptr %7, align 4
  %38 = load i32, ptr %8, align 4
  %39 = sub nsw i32 %37, %38
  %40 = sdiv i32 %36, %39
  %41 = add nsw i32 %34, %40
  %42 = load i16, ptr %10, align 2
  %43 = sext i16 %42 to i32
  %44 = load i32, ptr %8, align 4
  %45 = sub nsw i32 %44, 9
  %46 = srem i32 %43, %45
  %47 = add nsw i32 %41, %46
  store i32 %47, ptr %12, align 4
  %48 = load i32, ptr %9, align 4
  %49 = udiv i32 %48, 10
  %50 = load i32, ptr %9, align 4
  %51 = urem i32 %50, 1000003
  %52 = add i32 %49, %51
  %53 = load i32, ptr %9, align 4
  %54 = load i32, ptr %7, align 4
  %55 = load i32, ptr %8, align 4
  %56 = sub nsw i32 %54, %55
  %57 = sub nsw i32 %56, 3
  %58 = udiv i32 %53, %57
  %59 = add i32 %52, %58
  store i32 %59, ptr %13, align 4
  %60 = load i32, ptr %12, align 4
  %61 = load i32, ptr %13, align 4
  %62 = xor i32 %60, %61
  %63 = load i8, ptr %11, align 1
  %64 = zext i8 %63 to i32
  %65 = shl i32 %64, 4
  %66 = xor i32 %62, %65
  %67 = srem i32 %66, 3
  %68 = icmp eq i32 %67, 1
  br i1 %68, label %93, label %69

69:                                               ; preds = %4
  %70 = load i32, ptr %9, align 4
  %71 = call i32 @llvm.ctpop.i32(i32 %70)
  %72 = icmp sgt i32 %71, 20
  br i1 %72, label %93, label %73

73:                                               ; preds = %69
  %74 = load i32, ptr %9, align 4
  %75 = or i32 %74, 1
  %76 = call i32 @llvm.ctlz.i32(i32 %75, i1 true)
  %77 = icmp sgt i32 %76, 4
  br i1 %77, label %93, label %78

78:                                               ; preds = %73
  %79 = load i32, ptr %9, align 4
  %80 = or i32 %79, 256
  %81 = call i32 @llvm.cttz.i32(i32 %80, i1 true)
  %82 = icmp sgt i32 %81, 6
  br i1 %82, label %93, label %83

83:                                               ; preds = %78
  %84 = load i32, ptr %9, align 4
  %85 = icmp ugt i32 %84, -268435456
  br i1 %85, label %93, label %86

86:                                               ; preds = %83
  %87 = load i16, ptr %10, align 2
  %88 = sext i16 %87 to i32
  %89 = load i8, ptr %11, align 1
  %90 = zext i8 %89 to i32
  %91 = mul nsw i32 %90, 300
  %92 = icmp sgt i32 %88, %91
  br label %93

93:                                               ; preds = %86, %83, %78, %73, %69, %4
  %94 = phi i1 [ true, %83 ], [ true, %78 ], [ true, %73 ], [ true, %69 ], [ true, %4 ], [ %92, %86 ]
  ret i1 %94
}

; Function Attrs: noinline nounwind optnone uwtable
define internal i32 @mix(i32 noundef %0) #0 {
  %2 = alloca i32, align 4
  store i32 %0, ptr %2, align 4
  %3 = load i32, ptr %2, align 4
  %4 = lshr i32 %3, 16
  %5 = load i32, ptr %2, align 4
  %6 = xor i32 %5, %4
  store i32 %6, ptr %2, align 4
  %7 = load i32, ptr %2, align 4
  %8 = mul i32 %7, 2146121005
  store i32 %8, ptr %2, align 4
  %9 = load i32, ptr %2, align 4
  %10 = lshr i32 %9, 15
  %11 = load i32, ptr %2, align 4
  %12 = xor i32 %11, %10
  store i32 %12, ptr %2, align 4
  %13 = load i32, ptr %2, align 4
  %14 = shl i32 %13, 7
  %15 = load i32, ptr %2, align 4
  %16 = lshr i32 %15, 25
  %17 = or i32 %14, %16
  ret i32 %17
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctpop.i32(i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctlz.i32(i32, i1 immarg) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.cttz.i32(i32, i1 immarg) #1

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
