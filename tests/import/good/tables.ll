; ModuleID = 'tables.c'
source_filename = "tables.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@widths = internal unnamed_addr constant [5 x i32] [i32 3, i32 1, i32 4, i32 1, i32 5], align 16
@steps = internal unnamed_addr constant [2 x [3 x i8]] [[3 x i8] c"\01\02\03", [3 x i8] c"\FC\05\FA"], align 1
@switch.table.score_mod.1 = private unnamed_addr constant [4 x float] [float 5.000000e-01, float 2.000000e+00, float 0.000000e+00, float -1.250000e+00], align 4

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr #0 {
  %5 = icmp eq i32 %3, 0
  br i1 %5, label %26, label %6

6:                                                ; preds = %4
  %7 = icmp slt i32 %2, %3
  br i1 %7, label %26, label %8

8:                                                ; preds = %6
  %9 = sub nsw i32 %2, %3
  %10 = srem i32 %1, 5
  %11 = sext i32 %10 to i64
  %12 = getelementptr inbounds [5 x i32], ptr @widths, i64 0, i64 %11
  %13 = load i32, ptr %12, align 4, !tbaa !5
  %14 = srem i32 %9, %13
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %26, label %16

16:                                               ; preds = %8
  %17 = and i32 %0, 1
  %18 = zext nneg i32 %17 to i64
  %19 = srem i32 %2, 3
  %20 = sext i32 %19 to i64
  %21 = getelementptr inbounds [2 x [3 x i8]], ptr @steps, i64 0, i64 %18, i64 %20
  %22 = load i8, ptr %21, align 1, !tbaa !9
  %23 = sext i8 %22 to i32
  %24 = add nsw i32 %23, %3
  %25 = icmp eq i32 %24, %2
  br label %26

26:                                               ; preds = %8, %16, %6, %4
  %27 = phi i1 [ true, %4 ], [ false, %6 ], [ true, %8 ], [ %25, %16 ]
  ret i1 %27
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable
define dso_local noundef float @score_mod(float noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4) local_unnamed_addr #0 {
  %6 = and i32 %2, 3
  %7 = zext nneg i32 %6 to i64
  %8 = getelementptr inbounds [4 x float], ptr @switch.table.score_mod.1, i64 0, i64 %7
  %9 = load float, ptr %8, align 4
  %10 = and i32 %1, 3
  %11 = zext nneg i32 %10 to i64
  %12 = getelementptr inbounds [4 x float], ptr @switch.table.score_mod.1, i64 0, i64 %11
  %13 = load float, ptr %12, align 4
  %14 = tail call float @llvm.fmuladd.f32(float %0, float %9, float %13)
  ret float %14
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fmuladd.f32(float, float, float) #1

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

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
!9 = !{!7, !7, i64 0}
