; ModuleID = 'document.c'
source_filename = "document.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@doc = external local_unnamed_addr constant [0 x i32], align 4
@kv_len = external local_unnamed_addr constant i32, align 4
@window = external local_unnamed_addr constant i32, align 4
@q_len = external local_unnamed_addr constant i32, align 4

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none) uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr #0 {
  %5 = load i32, ptr @kv_len, align 4, !tbaa !5
  %6 = load i32, ptr @q_len, align 4, !tbaa !5
  %7 = add i32 %5, %2
  %8 = sub i32 %7, %6
  %9 = sub nsw i32 %8, %3
  %10 = icmp sgt i32 %9, -1
  %11 = load i32, ptr @window, align 4
  %12 = icmp slt i32 %9, %11
  %13 = select i1 %10, i1 %12, i1 false
  br i1 %13, label %14, label %26

14:                                               ; preds = %4
  %15 = mul nsw i32 %5, %0
  %16 = sext i32 %15 to i64
  %17 = getelementptr inbounds i32, ptr @doc, i64 %16
  %18 = tail call i32 @llvm.smax.i32(i32 %8, i32 0)
  %19 = zext nneg i32 %18 to i64
  %20 = getelementptr inbounds i32, ptr %17, i64 %19
  %21 = load i32, ptr %20, align 4, !tbaa !5
  %22 = sext i32 %3 to i64
  %23 = getelementptr inbounds i32, ptr %17, i64 %22
  %24 = load i32, ptr %23, align 4, !tbaa !5
  %25 = icmp eq i32 %21, %24
  br label %26

26:                                               ; preds = %14, %4
  %27 = phi i1 [ false, %4 ], [ %25, %14 ]
  ret i1 %27
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

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
