; ModuleID = 'math.c'
source_filename = "math.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@gain = external constant float, align 4

; Function Attrs: noinline nounwind optnone uwtable
define dso_local float @score_mod(float noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3, i32 noundef %4) #0 {
  %6 = alloca float, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca float, align 4
  %12 = alloca float, align 4
  store float %0, ptr %6, align 4
  store i32 %1, ptr %7, align 4
  store i32 %2, ptr %8, align 4
  store i32 %3, ptr %9, align 4
  store i32 %4, ptr %10, align 4
  %13 = load i32, ptr %9, align 4
  %14 = load i32, ptr %10, align 4
  %15 = sub nsw i32 %13, %14
  %16 = sitofp i32 %15 to float
  %17 = fmul float %16, 1.250000e-01
  store float %17, ptr %11, align 4
  %18 = load float, ptr %6, align 4
  %19 = call float @llvm.fabs.f32(float %18)
  %20 = load float, ptr %11, align 4
  %21 = call float @llvm.floor.f32(float %20)
  %22 = fadd float %19, %21
  %23 = load float, ptr %11, align 4
  %24 = call float @llvm.ceil.f32(float %23)
  %25 = fadd float %22, %24
  %26 = load float, ptr %6, align 4
  %27 = fmul float %26, 3.000000e+00
  %28 = call float @llvm.trunc.f32(float %27)
  %29 = fadd float %25, %28
  %30 = load float, ptr %11, align 4
  %31 = call float @llvm.fabs.f32(float %30)
  %32 = call float @sqrtf(float noundef %31) #3
  %33 = fadd float %29, %32
  %34 = load float, ptr %11, align 4
  %35 = call float @llvm.fabs.f32(float %34)
  %36 = fneg float %35
  %37 = call float @expf(float noundef %36) #3
  %38 = fadd float %33, %37
  store float %38, ptr %12, align 4
  %39 = load float, ptr %6, align 4
  %40 = call float @llvm.fabs.f32(float %39)
  %41 = fneg float %40
  %42 = call float @exp2f(float noundef %41) #3
  %43 = load float, ptr %11, align 4
  %44 = call float @llvm.fabs.f32(float %43)
  %45 = fadd float 1.000000e+00, %44
  %46 = call float @logf(float noundef %45) #3
  %47 = fadd float %42, %46
  %48 = load float, ptr %6, align 4
  %49 = call float @llvm.fabs.f32(float %48)
  %50 = fadd float 2.000000e+00, %49
  %51 = call float @log2f(float noundef %50) #3
  %52 = fadd float %47, %51
  %53 = load float, ptr %6, align 4
  %54 = call float @tanhf(float noundef %53) #3
  %55 = fadd float %52, %54
  %56 = load float, ptr %11, align 4
  %57 = call float @erff(float noundef %56) #3
  %58 = fadd float %55, %57
  %59 = load float, ptr %11, align 4
  %60 = call float @sinf(float noundef %59) #3
  %61 = fadd float %58, %60
  %62 = load float, ptr %11, align 4
  %63 = call float @cosf(float noundef %62) #3
  %64 = fadd float %61, %63
  %65 = load float, ptr %12, align 4
  %66 = fadd float %65, %64
  store float %66, ptr %12, align 4
  %67 = load float, ptr %6, align 4
  %68 = load float, ptr %11, align 4
  %69 = call float @llvm.minnum.f32(float %67, float %68)
  %70 = load float, ptr %6, align 4
  %71 = call float @llvm.maxnum.f32(float %70, float 2.500000e-01)
  %72 = fadd float %69, %71
  %73 = load i32, ptr %9, align 4
  %74 = add nsw i32 %73, 7
  %75 = uitofp i32 %74 to float
  %76 = fadd float %72, %75
  %77 = load i32, ptr %9, align 4
  %78 = load i32, ptr %10, align 4
  %79 = sub nsw i32 %77, %78
  %80 = call i32 @llvm.abs.i32(i32 %79, i1 true)
  %81 = sitofp i32 %80 to float
  %82 = fadd float %76, %81
  %83 = load float, ptr @gain, align 4
  %84 = fadd float %82, %83
  %85 = load float, ptr %12, align 4
  %86 = fadd float %85, %84
  store float %86, ptr %12, align 4
  %87 = load float, ptr %12, align 4
  %88 = call i1 @llvm.is.fpclass.f32(float %87, i32 3)
  br i1 %88, label %89, label %90

89:                                               ; preds = %5
  br label %103

90:                                               ; preds = %5
  %91 = load float, ptr %12, align 4
  %92 = load float, ptr %6, align 4
  %93 = fmul float %92, 0x40040793E0000000
  %94 = fptosi float %93 to i32
  %95 = sitofp i32 %94 to float
  %96 = fadd float %91, %95
  %97 = load float, ptr %6, align 4
  %98 = call float @llvm.fabs.f32(float %97)
  %99 = fmul float %98, 0x40220703A0000000
  %100 = fptoui float %99 to i8
  %101 = uitofp i8 %100 to float
  %102 = fadd float %96, %101
  br label %103

103:                                              ; preds = %90, %89
  %104 = phi float [ 0.000000e+00, %89 ], [ %102, %90 ]
  ret float %104
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fabs.f32(float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.floor.f32(float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.ceil.f32(float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.trunc.f32(float) #1

; Function Attrs: nounwind
declare float @sqrtf(float noundef) #2

; Function Attrs: nounwind
declare float @expf(float noundef) #2

; Function Attrs: nounwind
declare float @exp2f(float noundef) #2

; Function Attrs: nounwind
declare float @logf(float noundef) #2

; Function Attrs: nounwind
declare float @log2f(float noundef) #2

; Function Attrs: nounwind
declare float @tanhf(float noundef) #2

; Function Attrs: nounwind
declare float @erff(float noundef) #2

; Function Attrs: nounwind
declare float @sinf(float noundef) #2

; Function Attrs: nounwind
declare float @cosf(float noundef) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.minnum.f32(float, float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maxnum.f32(float, float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.abs.i32(i32, i1 immarg) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i1 @llvm.is.fpclass.f32(float, i32 immarg) #1

attributes #0 = { noinline nounwind optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #3 = { nounwind }

!llvm.module.flags = !{!0, !1, !2, !3, !4}
!llvm.ident = !{!5}

!0 = !{i32 1, !"wchar_size", i32 4}
!1 = !{i32 8, !"PIC Level", i32 2}
!2 = !{i32 7, !"PIE Level", i32 2}
!3 = !{i32 7, !"uwtable", i32 2}
!4 = !{i32 7, !"frame-pointer", i32 2}
!5 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
