; ModuleID = 'kerple'
source_filename = "kerple"

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define float @score_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, ptr noalias nocapture noundef readonly align 4 %t.r1, ptr noalias nocapture noundef readonly align 4 %t.r2) #0 {
entry:
  %0 = getelementptr inbounds float, ptr %t.r1, i32 %h
  %r1 = load float, ptr %0, align 4, !invariant.load !0, !noundef !0
  %1 = getelementptr inbounds float, ptr %t.r2, i32 %h
  %r2 = load float, ptr %1, align 4, !invariant.load !0, !noundef !0
  %difference = sub nsw i32 %kv_len, %q_len
  %sum = add nsw i32 %q_idx, %difference
  %sum_f = sitofp i32 %sum to float
  %kv_idx_f = sitofp i32 %kv_idx to float
  %difference1 = fsub contract float %sum_f, %kv_idx_f
  %2 = call contract float @llvm.maxnum.f32(float %difference1, float 0.000000e+00)
  %product = fmul contract float %r2, %2
  %sum2 = fadd contract float %product, 1.000000e+00
  %3 = call contract float @llvm.log.f32(float %sum2)
  %product3 = fmul contract float %r1, %3
  %difference4 = fsub contract float %score, %product3
  ret float %difference4
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maxnum.f32(float, float) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.log.f32(float) #1

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, ptr noalias nocapture noundef readonly align 4 %t.r1, ptr noalias nocapture noundef readonly align 4 %t.r2) #0 {
entry:
  %side = sub nsw i32 %kv_len, %q_len
  %side1 = add nsw i32 %side, %q_idx
  %0 = icmp sge i32 %side1, %kv_idx
  ret i1 %0
}

attributes #0 = { nofree nosync nounwind willreturn memory(argmem: read) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!0 = !{}
