; ModuleID = 'bigbird.c'
source_filename = "bigbird.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@kv_len = external local_unnamed_addr constant i32, align 4
@window = external local_unnamed_addr constant i32, align 4

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr #0 {
  %5 = sdiv i32 %2, 64
  %6 = sdiv i32 %3, 64
  %7 = load i32, ptr @kv_len, align 4, !tbaa !5
  %8 = add nsw i32 %7, 63
  %9 = sdiv i32 %8, 64
  %10 = icmp slt i32 %2, 64
  %11 = icmp slt i32 %3, 64
  %12 = or i1 %10, %11
  br i1 %12, label %57, label %13

13:                                               ; preds = %4
  %14 = sub nsw i32 %5, %6
  %15 = tail call i32 @llvm.abs.i32(i32 %14, i1 true)
  %16 = load i32, ptr @window, align 4, !tbaa !5
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

57:                                               ; preds = %45, %19, %33, %13, %4
  %58 = phi i1 [ true, %4 ], [ true, %13 ], [ true, %19 ], [ true, %33 ], [ %56, %45 ]
  ret i1 %58
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.abs.i32(i32, i1 immarg) #1

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0, !1, !2, !3}
!llvm.ident = !{!4}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 8, !"PIC Level", i32 2}
!2 = !{i32 7, !"PIE Level", i32 2}
!3 = !{i32 7, !"uwtable", i32 2}
!4 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
!5 = !{!6, !6, i64 0}
!6 = !{!"int", !7, i64 0}
!7 = !{!"omnipotent char", !8, i64 0}
!8 = !{!"Simple C/C++ TBAA"}
