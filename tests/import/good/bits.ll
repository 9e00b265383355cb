; ModuleID = 'bits.c'
source_filename = "bits.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr #0 {
  %5 = mul nsw i32 %2, 7919
  %6 = add nsw i32 %5, %3
  %7 = shl i32 %1, 28
  %8 = xor i32 %6, %7
  %9 = lshr i32 %8, 16
  %10 = xor i32 %9, %8
  %11 = mul i32 %10, 2146121005
  %12 = lshr i32 %11, 15
  %13 = xor i32 %12, %11
  %14 = tail call i32 @llvm.fshl.i32(i32 %13, i32 %13, i32 7)
  %15 = mul i32 %14, 3
  %16 = add i32 %15, %0
  %17 = sdiv i32 %14, 7
  %18 = srem i32 %14, 5
  %19 = add nsw i32 %17, %18
  %20 = shl i32 %14, 13
  %21 = ashr i32 %20, 16
  %22 = sub nsw i32 %2, %3
  %23 = sdiv i32 %21, %22
  %24 = add nsw i32 %19, %23
  %25 = add nsw i32 %3, -9
  %26 = srem i32 %21, %25
  %27 = add nsw i32 %24, %26
  %28 = udiv i32 %14, 10
  %29 = urem i32 %14, 1000003
  %30 = add nuw nsw i32 %28, %29
  %31 = add nsw i32 %22, -3
  %32 = udiv i32 %14, %31
  %33 = add i32 %30, %32
  %34 = and i32 %16, 255
  %35 = shl nuw nsw i32 %34, 4
  %36 = xor i32 %27, %35
  %37 = xor i32 %36, %33
  %38 = srem i32 %37, 3
  %39 = icmp eq i32 %38, 1
  %40 = tail call range(i32 0, 33) i32 @llvm.ctpop.i32(i32 %13)
  %41 = icmp ugt i32 %40, 20
  %42 = select i1 %39, i1 true, i1 %41
  %43 = icmp ult i32 %14, 134217728
  %44 = or i1 %43, %42
  br i1 %44, label %53, label %45

45:                                               ; preds = %4
  %46 = and i32 %14, 127
  %47 = icmp eq i32 %46, 0
  %48 = icmp ugt i32 %14, -268435456
  %49 = or i1 %48, %47
  br i1 %49, label %53, label %50

50:                                               ; preds = %45
  %51 = mul nuw nsw i32 %34, 300
  %52 = icmp sgt i32 %21, %51
  br label %53

53:                                               ; preds = %50, %45, %4
  %54 = phi i1 [ true, %45 ], [ true, %4 ], [ %52, %50 ]
  ret i1 %54
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctpop.i32(i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.fshl.i32(i32, i32, i32) #2

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0, !1, !2, !3}
!llvm.ident = !{!4}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 8, !"PIC Level", i32 2}
!2 = !{i32 7, !"PIE Level", i32 2}
!3 = !{i32 7, !"uwtable", i32 2}
!4 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
