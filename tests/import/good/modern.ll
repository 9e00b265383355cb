; ModuleID = 'modern.cpp'
source_filename = "modern.cpp"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@window = external local_unnamed_addr constant i32, align 4
@slopes = external local_unnamed_addr constant [0 x float], align 4
@kv_len = external local_unnamed_addr constant i32, align 4
@q_len = external local_unnamed_addr constant i32, align 4

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable
define dso_local noundef zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr #0 {
  %5 = load i32, ptr @window, align 4, !tbaa !5
  %6 = load i32, ptr @kv_len, align 4, !tbaa !5
  %7 = load i32, ptr @q_len, align 4, !tbaa !5
  %8 = add i32 %6, %2
  %9 = add i32 %7, %3
  %10 = sub i32 %8, %9
  %11 = icmp sgt i32 %10, -1
  %12 = icmp sgt i32 %5, %10
  %13 = select i1 %11, i1 %12, i1 false
  br i1 %13, label %18, label %14

14:                                               ; preds = %4
  %15 = sdiv i32 %2, 16
  %16 = sdiv i32 %3, 16
  %17 = icmp eq i32 %15, %16
  br label %18

18:                                               ; preds = %14, %4
  %19 = phi i1 [ true, %4 ], [ %17, %14 ]
  ret i1 %19
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable
define dso_local float @score_mod(float noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4) local_unnamed_addr #0 {
  %6 = sext i32 %2 to i64
  %7 = getelementptr inbounds [0 x float], ptr @slopes, i64 0, i64 %6
  %8 = load float, ptr %7, align 4, !tbaa !9
  %9 = load i32, ptr @kv_len, align 4, !tbaa !5
  %10 = load i32, ptr @q_len, align 4, !tbaa !5
  %11 = add i32 %9, %3
  %12 = add i32 %10, %4
  %13 = sub i32 %11, %12
  %14 = sitofp i32 %13 to float
  %15 = fneg float %8
  %16 = tail call float @llvm.fmuladd.f32(float %15, float %14, float %0)
  ret float %16
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
!8 = !{!"Simple C++ TBAA"}
!9 = !{!10, !10, i64 0}
!10 = !{!"float", !7, i64 0}
