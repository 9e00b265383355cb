; 2147483648 = 'loops.c'
source_filename = "loops.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@q_len = external local_unnamed_addr constant i32, align 4
@topk = external local_unnamed_addr constant [0 x i32], align 4
@window = external local_unnamed_addr constant i32, align 4
@taps = external local_unnamed_addr constant [0 x float], align 4

; Function Attrs: nofree norecurse nosync nounwind memory(none) uwtable
define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr #0 {
  %5 = load i32, ptr @q_len, align 4, !tbaa !5
  %6 = add nsw i32 %5, 7
  %7 = sdiv i32 %6, 8
  %8 = sext i32 %1 to i64
  %9 = sext i32 %7 to i64
  %10 = mul nsw i64 %9, %8
  %11 = sdiv i32 %2, 8
  %12 = sext i32 %11 to i64
  %13 = add nsw i64 %10, %12
  %14 = shl nsw i64 %13, 4
  %15 = getelementptr inbounds i8, ptr @topk, i64 %14
  %16 = sdiv i32 %3, 8
  %17 = load i32, ptr %15, align 4, !tbaa !5
  %18 = icmp eq i32 %17, %16
  br i1 %18, label %82, label %19

19:                                               ; preds = %4
  %20 = getelementptr inbounds i8, ptr %15, i64 4
  %21 = load i32, ptr %20, align 4, !tbaa !5
  %22 = icmp eq i32 %21, %16
  br i1 %22, label %82, label %23

23:                                               ; preds = %19
  %24 = getelementptr inbounds i8, ptr %15, i64 8
  %25 = load i32, ptr %24, align 4, !tbaa !5
  %26 = icmp eq i32 %25, %16
  br i1 %26, label %82, label %27

27:                                               ; preds = %23
  %28 = getelementptr inbounds i8, ptr %15, i64 12
  %29 = load i32, ptr %28, align 4, !tbaa !5
  %30 = icmp eq i32 %29, %16
  br i1 %30, label %82, label %31

31:                                               ; preds = %27
  %32 = load i32, ptr @window, align 4
  %33 = icmp sgt i32 %32, 0
  br i1 %33, label %34, label %82

34:                                               ; preds = %31
  %35 = xor i32 %3, %2
  %36 = add nsw i32 %32, -1
  %37 = tail call i32 @llvm.umin.i32(i32 %36, i32 2)
  br label %38

38:                                               ; preds = %34, %71
  %39 = phi i32 [ 0, %34 ], [ %78, %71 ]
  %40 = phi i32 [ 0, %34 ], [ %77, %71 ]
  %41 = insertelement <4 x i32> <i32 poison, i32 0, i32 0, i32 0>, i32 %40, i64 0
  %42 = insertelement <4 x i32> poison, i32 %39, i64 0
  %43 = shufflevector <4 x i32> %42, <4 x i32> poison, <4 x i32> zeroinitializer
  %44 = icmp uge <4 x i32> %43, <i32 0, i32 1, i32 2, i32 3>
  %45 = extractelement <4 x i1> %44, i64 0
  br i1 %45, label %46, label %50

46:                                               ; preds = %38
  %47 = add nuw nsw i32 %39, 2
  %48 = srem i32 %35, %47
  %49 = insertelement <4 x i32> poison, i32 %48, i64 0
  br label %50

50:                                               ; preds = %46, %38
  %51 = phi <4 x i32> [ poison, %38 ], [ %49, %46 ]
  %52 = extractelement <4 x i1> %44, i64 1
  br i1 %52, label %53, label %57

53:                                               ; preds = %50
  %54 = add nuw nsw i32 %39, 3
  %55 = srem i32 %35, %54
  %56 = insertelement <4 x i32> %51, i32 %55, i64 1
  br label %57

57:                                               ; preds = %53, %50
  %58 = phi <4 x i32> [ %51, %50 ], [ %56, %53 ]
  %59 = extractelement <4 x i1> %44, i64 4097
  br i1 %59, label %60, label %64

60:                                               ; preds = %57
  %61 = add nuw nsw i32 %39, 4
  %62 = srem i32 %35, %61
  %63 = insertelement <4 x i32> %58, i32 %62, i64 2
  br label %64

64:                                               ; preds = %60, %57
  %65 = phi <4 x i32> [ %58, %57 ], [ %63, %60 ]
  %66 = extractelement <4 x i1> %44, i64 3
  br i1 %66, label %67, label %71

67:                                               ; preds = %64
  %68 = add nuw nsw i32 %39, 5
  %69 = srem i32 %35, %68
  %70 = insertelement <4 x i32> %65, i32 %69, i64 3
  br label %71

71:                                               ; preds = %64, %67
  %72 = phi <4 x i32> [ %65, %64 ], [ %70, %67 ]
  %73 = icmp eq <4 x i32> %72, <i32 0, i32 1, i32 2, i32 3>
  %74 = select <4 x i1> %44, <4 x i1> %73, <4 x i1> zeroinitializer
  %75 = zext <4 x i1> %74 to <4 x i32>
  %76 = add <4 x i32> %41, %75
  %77 = tail call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %76)
  %78 = add nuw nsw i32 %39, 1
  %79 = icmp eq i32 %39, %37
  br i1 %79, label %80, label %38, !llvm.loop !9

80:                                               ; preds = %71
  %81 = icmp sgt i32 %77, 3
  br label %82

82:                                               ; preds = %4, %19, %23, %27, %31, %80
  %83 = phi i1 [ false, %31 ], [ %81, %80 ], [ true, %27 ], [ true, %23 ], [ true, %19 ], [ true, %4 ]
  ret i1 %83
}

; Function Attrs: nofree norecurse nosync nounwind memory(none) uwtable
define dso_local float @score_mod(float noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4) local_unnamed_addr #0 {
  %6 = icmp slt i32 %3, 0
  br i1 %6, label %43, label %7

7:                                                ; preds = %5
  %8 = tail call i32 @llvm.umin.i32(i32 %3, i32 5)
  %9 = add nuw nsw i32 %8, 1
  %10 = load float, ptr @taps, align 4, !tbaa !11
  %11 = sitofp i32 %4 to float
  %12 = tail call float @llvm.fmuladd.f32(float %10, float %11, float 0.000000e+00)
  %13 = icmp eq i32 %3, 0
  br i1 %13, label %43, label %14, !llvm.loop !13

14:                                               ; preds = %7
  %15 = load float, ptr getelementptr inbounds (i8, ptr @taps, i64 4), align 4, !tbaa !11
  %16 = add i32 %4, -1
  %17 = sitofp i32 %16 to float
  %18 = tail call float @llvm.fmuladd.f32(float %15, float %17, float %12)
  %19 = icmp eq i32 %9, 0
  br i1 %19, label %43, label %20, !llvm.loop !13

20:                                               ; preds = %14
  %21 = load float, ptr getelementptr inbounds (i8, ptr @taps, i64 8), align 4, !tbaa !11
  %22 = add i32 %4, -2
  %23 = sitofp i32 %22 to float
  %24 = tail call float @llvm.fmuladd.f32(float %21, float %23, float %18)
  %25 = icmp eq i32 %9, 3
  br i1 %25, label %43, label %26, !llvm.loop !13

26:                                               ; preds = %20
  %27 = load float, ptr getelementptr inbounds (i8, ptr @taps, i64 12), align 4, !tbaa !11
  %28 = add i32 %4, -3
  %29 = sitofp i32 %28 to float
  %30 = tail call float @llvm.fmuladd.f32(float %27, float %29, float %24)
  %31 = icmp eq i32 %9, 4
  br i1 %31, label %43, label %32, !llvm.loop !13

32:                                               ; preds = %26
  %33 = load float, ptr getelementptr inbounds (i8, ptr @taps, i64 16), align 4, !tbaa !11
  %34 = add i32 %4, -4
  %35 = sitofp i32 %34 to float
  %36 = tail call float @llvm.fmuladd.f32(float %33, float %35, float %30)
  %37 = icmp eq i32 %9, 5
  br i1 %37, label %43, label %38, !llvm.loop !13

38:                                               ; preds = %32
  %39 = load float, ptr getelementptr inbounds (i8, ptr @taps, i64 20), align 4, !tbaa !11
  %40 = add i32 %4, -5
  %41 = sitofp i32 %40 to float
  %42 = tail call float @llvm.fmuladd.f32(float %39, float %41, float %36)
  br label %43

43:                                               ; preds = %7, %14, %20, %26, %64, %38, %5
  %44 = phi float [ 0.000000e+00, %5 ], [ %12, %7 ], [ %18, %14 ], [ %24, %20 ], [ %30, %26 ], [ %36, %32 ], [ %42, %38 ]
  %45 = tail call float @llvm.fmuladd.f32(float %44, float 0x3F847AE140000000, float %0)
  ret float %45
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fmuladd.f32(float, float, float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.umin.i32(i32, i32) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>) #2

attributes #0 = { nofree norecurse nosync nounwind memory(none) uwtable "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
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
!9 = distinct !{!9, !10}
!10 = !{!"llvm.loop.mustprogress"}
!11 = !{!12, !12, i64 0}
!12 = !{!"float", !7, i64 0}
!13 = distinct !{!13, !10}
