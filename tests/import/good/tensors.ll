; ModuleID = 'tensors.c'
source_filename = "tensors.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@q_len = external local_unnamed_addr constant i32, align 4
@kv_len = external local_unnamed_addr constant i32, align 4
@window = external local_unnamed_addr constant i32, align 4
@bias = external local_unnamed_addr constant [0 x float], align 4
@relative = external local_unnamed_addr constant [0 x float], align 4
@halves = external local_unnamed_addr constant [0 x [16 x half]], align 2
@flags = external local_unnamed_addr constant [0 x i8], align 1
@small = external local_unnamed_addr global ptr, align 8

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable
define dso_local float @score_mod(float noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4) local_unnamed_addr #0 {
  %6 = sext i32 %2 to i64
  %7 = load i32, ptr @q_len, align 4, !tbaa !5
  %8 = sext i32 %7 to i64
  %9 = mul nsw i64 %8, %6
  %10 = sext i32 %3 to i64
  %11 = add nsw i64 %9, %10
  %12 = load i32, ptr @kv_len, align 4, !tbaa !5
  %13 = sext i32 %12 to i64
  %14 = mul i64 %11, %13
  %15 = sext i32 %4 to i64
  %16 = add i64 %14, %15
  %17 = sub nsw i32 %4, %3
  %18 = load i32, ptr @window, align 4, !tbaa !5
  %19 = sub nsw i32 0, %18
  %20 = icmp slt i32 %17, %19
  %21 = tail call i32 @llvm.smin.i32(i32 %17, i32 %18)
  %22 = select i1 %20, i32 %19, i32 %21
  %23 = add nsw i32 %22, %18
  %24 = getelementptr inbounds [0 x float], ptr @bias, i64 0, i64 %16
  %25 = load float, ptr %24, align 4, !tbaa !9
  %26 = fadd float %25, %0
  %27 = shl nsw i32 %18, 1
  %28 = or disjoint i32 %27, 1
  %29 = mul nsw i32 %28, %2
  %30 = add nsw i32 %23, %29
  %31 = sext i32 %30 to i64
  %32 = getelementptr inbounds [0 x float], ptr @relative, i64 0, i64 %31
  %33 = load float, ptr %32, align 4, !tbaa !9
  %34 = fadd float %26, %33
  %35 = and i32 %4, 15
  %36 = zext nneg i32 %35 to i64
  %37 = getelementptr inbounds [0 x [16 x half]], ptr @halves, i64 0, i64 %6, i64 %36
  %38 = load half, ptr %37, align 2, !tbaa !11
  %39 = fpext half %38 to float
  %40 = fadd float %34, %39
  ret float %40
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(read, inaccessiblemem: none) uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr #1 {
  %5 = load i32, ptr @kv_len, align 4, !tbaa !5
  %6 = mul nsw i32 %5, %0
  %7 = add nsw i32 %6, %3
  %8 = sext i32 %7 to i64
  %9 = getelementptr inbounds [0 x i8], ptr @flags, i64 0, i64 %8
  %10 = load i8, ptr %9, align 1, !tbaa !13, !range !15, !noundef !16
  %11 = trunc nuw i8 %10 to i1
  br i1 %11, label %26, label %12

12:                                               ; preds = %4
  %13 = load ptr, ptr @small, align 8, !tbaa !17
  %14 = sext i32 %3 to i64
  %15 = getelementptr inbounds i8, ptr %13, i64 %14
  %16 = load i8, ptr %15, align 1, !tbaa !19
  %17 = sext i8 %16 to i32
  %18 = and i32 %2, 7
  %19 = icmp eq i32 %18, %17
  br i1 %19, label %26, label %20

20:                                               ; preds = %12
  %21 = add nsw i32 %7, 1
  %22 = sext i32 %21 to i64
  %23 = getelementptr inbounds [0 x i8], ptr @flags, i64 0, i64 %22
  %24 = load i8, ptr %23, align 1, !tbaa !13, !range !15, !noundef !16
  %25 = trunc nuw i8 %24 to i1
  br label %26

26:                                               ; preds = %20, %12, %4
  %27 = phi i1 [ true, %12 ], [ true, %4 ], [ %25, %20 ]
  ret i1 %27
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #2

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { mustprogress nofree norecurse nosync nounwind willreturn memory(read, inaccessiblemem: none) uwtable "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

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
!9 = !{!10, !10, i64 0}
!10 = !{!"float", !7, i64 0}
!11 = !{!12, !12, i64 0}
!12 = !{!"_Float16", !7, i64 0}
!13 = !{!14, !14, i64 0}
!14 = !{!"_Bool", !7, i64 0}
!15 = !{i8 0, i8 2}
!16 = !{}
!17 = !{!18, !18, i64 0}
!18 = !{!"any pointer", !7, i64 0}
!19 = !{!7, !7, i64 0}
