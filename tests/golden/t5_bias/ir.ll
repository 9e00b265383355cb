; ModuleID = 't5_bias'
source_filename = "t5_bias"

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define float @score_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, ptr noalias nocapture noundef readonly align 4 %t.bias) #0 {
entry:
  %difference = sub nsw i32 %kv_len, %q_len
  %sum = add nsw i32 %q_idx, %difference
  %difference1 = sub nsw i32 %sum, %kv_idx
  %0 = call i32 @llvm.smax.i32(i32 %difference1, i32 0)
  %1 = icmp slt i32 %0, 16
  %sum_f = sitofp i32 %sum to float
  %kv_idx_f = sitofp i32 %kv_idx to float
  %difference2 = fsub float %sum_f, %kv_idx_f
  %2 = call float @llvm.maxnum.f32(float %difference2, float 0.000000e+00)
  %3 = call float @llvm.maxnum.f32(float %2, float 1.000000e+00)
  %quotient = fdiv float %3, 1.600000e+01
  %4 = call float @llvm.log.f32(float %quotient)
  %quotient3 = fdiv float %4, 0x4000A2B240000000
  %product = fmul float %quotient3, 1.600000e+01
  %5 = call i32 @llvm.fptosi.sat.i32.f32(float %product)
  %sum4 = add i32 16, %5
  %choice = select i1 %1, i32 %0, i32 %sum4
  %6 = call i32 @llvm.smax.i32(i32 %choice, i32 0)
  %7 = call i32 @llvm.smin.i32(i32 %6, i32 31)
  %offset = mul nsw i32 %7, %num_q_heads
  %8 = getelementptr inbounds float, ptr %t.bias, i32 %h
  %9 = getelementptr inbounds float, ptr %8, i32 %offset
  %bias = load float, ptr %9, align 4, !invariant.load !0, !noundef !0
  %sum5 = fadd contract float %score, %bias
  ret float %sum5
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maxnum.f32(float, float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.log.f32(float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.fptosi.sat.i32.f32(float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #1

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, ptr noalias nocapture noundef readonly align 4 %t.bias) #0 {
entry:
  %side = sub nsw i32 %kv_len, %q_len
  %side1 = add nsw i32 %side, %q_idx
  %0 = icmp sge i32 %side1, %kv_idx
  ret i1 %0
}

attributes #0 = { nofree nosync nounwind willreturn memory(argmem: read) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!0 = !{}
