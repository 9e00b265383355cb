; ModuleID = 'kerple.f477777027837848-cgu.0'
source_filename = "kerple.f477777027837848-cgu.0"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

@kv_len = external local_unnamed_addr global i32
@q_len = external local_unnamed_addr global i32
@r1 = external local_unnamed_addr global [0 x float]
@r2 = external local_unnamed_addr global [0 x float]

; Function Attrs: mustprogress nofree norecurse nosync nounwind nonlazybind willreturn memory(read, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) uwtable
define noundef zeroext i1 @mask_mod(i32 noundef %_b, i32 noundef %_h, i32 noundef %q_idx, i32 noundef %kv_idx) unnamed_addr #0 {
start:
  %_8 = load i32, ptr @kv_len, align 4, !noundef !3
  %_10 = load i32, ptr @q_len, align 4, !noundef !3
  %0 = add i32 %q_idx, %_8
  %1 = add i32 %kv_idx, %_10
  %_5 = sub i32 %0, %1
  %_0 = icmp sgt i32 %_5, -1
  ret i1 %_0
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind nonlazybind willreturn memory(read, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) uwtable
define noundef float @score_mod(float noundef %score, i32 noundef %_b, i32 noundef %h, i32 noundef %q_idx, i32 noundef %kv_idx) unnamed_addr #0 personality ptr @rust_eh_personality {
start:
  %_28 = load i32, ptr @kv_len, align 4, !noundef !3
  %_30 = load i32, ptr @q_len, align 4, !noundef !3
  %0 = add i32 %q_idx, %_28
  %1 = add i32 %kv_idx, %_30
  %_8 = sub i32 %0, %1
  %..i = tail call noundef range(i32 0, -2147483648) i32 @llvm.smax.i32(i32 %_8, i32 0)
  %far = uitofp nneg i32 %..i to float
  %_15 = sext i32 %h to i64
  %_10 = getelementptr inbounds nuw float, ptr @r1, i64 %_15
  %slope = load float, ptr %_10, align 4, !noundef !3
  %_17 = getelementptr inbounds nuw float, ptr @r2, i64 %_15
  %bend = load float, ptr %_17, align 4, !noundef !3
  %_25 = fmul float %bend, %far
  %_24 = fadd float %_25, 1.000000e+00
  %2 = tail call float @llvm.log.f32(float %_24)
  %_22 = fmul float %slope, %2
  %_0 = fsub float %score, %_22
  ret float %_0
}

; Function Attrs: nounwind nonlazybind uwtable
declare noundef range(i32 0, 10) i32 @rust_eh_personality(i32 noundef, i32 noundef, i64 noundef, ptr noundef, ptr noundef) unnamed_addr #1

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.log.f32(float) #2

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
