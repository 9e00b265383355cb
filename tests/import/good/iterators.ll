; ModuleID = 'iterators.53ec9449411a796f-cgu.0'
source_filename = "iterators.53ec9449411a796f-cgu.0"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

@doc = external local_unnamed_addr global [0 x i32]
@kv_len = external local_unnamed_addr global i32
@flags = external local_unnamed_addr global [0 x i8]
@q_len = external local_unnamed_addr global i32
@window = external local_unnamed_addr global i32
@gain = external local_unnamed_addr global float

; Function Attrs: mustprogress nofree norecurse nosync nounwind nonlazybind willreturn memory(read, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) uwtable
define noundef zeroext i1 @mask_mod(i32 noundef %b, i32 noundef %h, i32 noundef %0, i32 noundef %1) unnamed_addr #0 personality ptr @rust_eh_personality {
start:
  %_0.i.i.i = icmp eq i32 %0, %1
  %2 = tail call i32 @llvm.usub.sat.i32(i32 %0, i32 3)
  %_0.i.i.i.1 = icmp eq i32 %2, %1
  %or.cond2 = or i1 %_0.i.i.i, %_0.i.i.i.1
  %3 = tail call i32 @llvm.usub.sat.i32(i32 %0, i32 6)
  %_0.i.i.i.2 = icmp eq i32 %3, %1
  %or.cond3 = or i1 %or.cond2, %_0.i.i.i.2
  %4 = tail call i32 @llvm.usub.sat.i32(i32 %0, i32 9)
  %_0.i.i.i.3 = icmp eq i32 %4, %1
  %or.cond4 = or i1 %or.cond3, %_0.i.i.i.3
  %_13 = urem i32 %h, 3
  switch i32 %_13, label %bb1 [
    i32 0, label %bb3
    i32 1, label %bb2
  ]

bb1:                                              ; preds = %start
  %_14 = sub i32 %1, %0
  %r.i = srem i32 %_14, 5
  %_8.i = icmp slt i32 %r.i, 0
  %5 = add nsw i32 %r.i, 5
  %spec.select.i = select i1 %_8.i, i32 %5, i32 %r.i
  br label %bb5

bb3:                                              ; preds = %start
  %_34 = zext i32 %b to i64
  %_36 = load i32, ptr @kv_len, align 4, !noundef !3
  %_35 = sext i32 %_36 to i64
  %_33 = mul nsw i64 %_35, %_34
  %_38 = zext i32 %1 to i64
  %6 = getelementptr i32, ptr @doc, i64 %_33
  %_27 = getelementptr i32, ptr %6, i64 %_38
  %7 = load i32, ptr %_27, align 4, !noundef !3
  br label %bb5

bb2:                                              ; preds = %start
  br i1 %or.cond4, label %bb10, label %bb9

bb5:                                              ; preds = %bb1, %bb3
  %group.sroa.0.0 = phi i32 [ %spec.select.i, %bb1 ], [ %7, %bb3 ]
  %_17 = icmp eq i32 %group.sroa.0.0, 2
  %or.cond = or i1 %or.cond4, %_17
  br i1 %or.cond, label %bb10, label %bb9

bb9:                                              ; preds = %bb5, %bb2
  %_23 = zext i32 %1 to i64
  %_18 = getelementptr inbounds nuw i8, ptr @flags, i64 %_23
  %8 = load i8, ptr %_18, align 1, !range !4, !noundef !3
  %9 = trunc nuw i8 %8 to i1
  br label %bb10

bb10:                                             ; preds = %bb2, %bb5, %bb9
  %_0.sroa.0.0 = phi i1 [ %9, %bb9 ], [ true, %bb5 ], [ true, %bb2 ]
  ret i1 %_0.sroa.0.0
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind nonlazybind willreturn memory(read, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) uwtable
define noundef float @score_mod(float noundef %score, i32 noundef %_b, i32 noundef %h, i32 noundef %q_idx, i32 noundef %kv_idx) unnamed_addr #0 personality ptr @rust_eh_personality {
start:
  %_12 = load i32, ptr @kv_len, align 4, !noundef !3
  %_14 = load i32, ptr @q_len, align 4, !noundef !3
  %0 = add i32 %q_idx, %_12
  %1 = add i32 %kv_idx, %_14
  %_9 = sub i32 %0, %1
  %_16 = load i32, ptr @window, align 4, !noundef !3
  %..i = tail call noundef i32 @llvm.smin.i32(i32 %_16, i32 %_9)
  %_18 = sub i32 0, %_16
  %..i5 = tail call noundef i32 @llvm.smax.i32(i32 %_18, i32 %..i)
  %distance = sitofp i32 %..i5 to float
  %_22 = load float, ptr @gain, align 4, !noundef !3
  %2 = tail call float @llvm.fabs.f32(float %_22)
  %3 = tail call float @llvm.maxnum.f32(float %2, float 5.000000e-01)
  %_27 = fdiv float %score, %3
  %4 = tail call float @llvm.minnum.f32(float %_27, float 1.000000e+00)
  %5 = tail call float @llvm.maxnum.f32(float %4, float -1.000000e+00)
  %squashed = fmul float %3, %5
  %_30 = sitofp i32 %h to float
  %6 = tail call float @llvm.sqrt.f32(float %_30)
  %_31 = fmul float %distance, 1.250000e-01
  %_28 = fadd float %6, %_31
  %_0 = fadd float %_28, %squashed
  ret float %_0
}

; Function Attrs: nounwind nonlazybind uwtable
declare noundef range(i32 0, 10) i32 @rust_eh_personality(i32 noundef, i32 noundef, i64 noundef, ptr noundef, ptr noundef) unnamed_addr #1

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.usub.sat.i32(i32, i32) #2

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fabs.f32(float) #2

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maxnum.f32(float, float) #2

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.minnum.f32(float, float) #2

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #3

attributes #0 = { mustprogress nofree norecurse nosync nounwind nonlazybind willreturn memory(read, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) uwtable "probe-stack"="inline-asm" "target-cpu"="x86-64" }
attributes #1 = { nounwind nonlazybind uwtable "probe-stack"="inline-asm" "target-cpu"="x86-64" }
attributes #2 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0, !1}
!llvm.ident = !{!2}

!0 = !{i32 8, !"PIC Level", i32 2}
!1 = !{i32 2, !"RtLibUseGOT", i32 1}
!2 = !{!"rustc version 1.95.0 (59807616e 2026-04-14)"}
!3 = !{}
!4 = !{i8 0, i8 2}
