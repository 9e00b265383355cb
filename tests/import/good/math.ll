; ModuleID = 'math.c'
source_filename = "math.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@gain = external local_unnamed_addr constant float, align 4

; Function Attrs: mustprogress nofree nosync nounwind willreturn memory(none) uwtable
define dso_local float @score_mod(float noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4) local_unnamed_addr #0 {
  %6 = sub nsw i32 %3, %4
  %7 = sitofp i32 %6 to float
  %8 = fmul float %7, 1.250000e-01
  %9 = tail call float @llvm.fabs.f32(float %0)
  %10 = tail call float @llvm.floor.f32(float %8)
  %11 = fadd float %9, %10
  %12 = tail call float @llvm.ceil.f32(float %8)
  %13 = fadd float %12, %11
  %14 = fmul float %0, 3.000000e+00
  %15 = tail call float @llvm.trunc.f32(float %14)
  %16 = tail call float @llvm.fabs.f32(float %8)
  %17 = tail call float @llvm.sqrt.f32(float %16)
  %18 = fneg float %16
  %19 = tail call float @llvm.exp.f32(float %18)
  %20 = fneg float %9
  %21 = tail call float @llvm.exp2.f32(float %20)
  %22 = fadd float %16, 1.000000e+00
  %23 = tail call float @llvm.log.f32(float %22)
  %24 = fadd float %21, %23
  %25 = fadd float %9, 2.000000e+00
  %26 = tail call float @llvm.log2.f32(float %25)
  %27 = fadd float %26, %24
  %28 = tail call float @llvm.tanh.f32(float %0)
  %29 = fadd float %28, %27
  %30 = tail call float @erff(float noundef %8) #3
  %31 = fadd float %29, %30
  %32 = tail call float @llvm.sin.f32(float %8)
  %33 = fadd float %32, %31
  %34 = tail call float @llvm.cos.f32(float %8)
  %35 = fadd float %34, %33
  %36 = tail call float @llvm.minnum.f32(float %0, float %8)
  %37 = tail call float @llvm.maxnum.f32(float %0, float 2.500000e-01)
  %38 = add nsw i32 %3, 7
  %39 = uitofp i32 %38 to float
  %40 = tail call i32 @llvm.abs.i32(i32 %6, i1 true)
  %41 = uitofp nneg i32 %40 to float
  %42 = load float, ptr @gain, align 4, !tbaa !5
  %43 = insertelement <2 x float> poison, float %37, i64 0
  %44 = insertelement <2 x float> %43, float %15, i64 1
  %45 = insertelement <2 x float> poison, float %36, i64 0
  %46 = insertelement <2 x float> %45, float %13, i64 1
  %47 = fadd <2 x float> %44, %46
  %48 = insertelement <2 x float> poison, float %39, i64 0
  %49 = insertelement <2 x float> %48, float %17, i64 1
  %50 = fadd <2 x float> %47, %49
  %51 = insertelement <2 x float> poison, float %41, i64 0
  %52 = insertelement <2 x float> %51, float %19, i64 1
  %53 = fadd <2 x float> %50, %52
  %54 = insertelement <2 x float> poison, float %42, i64 0
  %55 = insertelement <2 x float> %54, float %35, i64 1
  %56 = fadd <2 x float> %53, %55
  %57 = shufflevector <2 x float> %56, <2 x float> poison, <2 x i32> <i32 1, i32 poison>
  %58 = fadd <2 x float> %56, %57
  %59 = extractelement <2 x float> %58, i64 0
  %60 = fcmp uno float %59, 0.000000e+00
  br i1 %60, label %70, label %61

61:                                               ; preds = %5
  %62 = fmul float %0, 0x40040793E0000000
  %63 = fptosi float %62 to i32
  %64 = sitofp i32 %63 to float
  %65 = fadd float %59, %64
  %66 = fmul float %9, 0x40220703A0000000
  %67 = fptoui float %66 to i8
  %68 = uitofp i8 %67 to float
  %69 = fadd float %65, %68
  br label %70

70:                                               ; preds = %5, %61
  %71 = phi float [ %69, %61 ], [ 0.000000e+00, %5 ]
  ret float %71
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fabs.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.floor.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.ceil.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.trunc.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.exp.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.exp2.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.log.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.log2.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.tanh.f32(float) #1

; Function Attrs: mustprogress nofree nosync nounwind willreturn memory(none)
declare float @erff(float noundef) local_unnamed_addr #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sin.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.cos.f32(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.minnum.f32(float, float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maxnum.f32(float, float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.abs.i32(i32, i1 immarg) #1

attributes #0 = { mustprogress nofree nosync nounwind willreturn memory(none) uwtable "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { mustprogress nofree nosync nounwind willreturn memory(none) "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #3 = { nounwind willreturn memory(none) }

!llvm.module.flags = !{!0, !1, !2, !3}
!llvm.ident = !{!4}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 8, !"PIC Level", i32 2}
!2 = !{i32 7, !"PIE Level", i32 2}
!3 = !{i32 7, !"uwtable", i32 2}
!4 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
!5 = !{!6, !6, i64 0}
!6 = !{!"float", !7, i64 0}
!7 = !{!"omnipotent char", !8, i64 0}
!8 = !{!"Simple C/C++ TBAA"}
