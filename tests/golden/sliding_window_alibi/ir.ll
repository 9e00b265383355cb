; ModuleID = 'sliding_window_alibi'
source_filename = "sliding_window_alibi"

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define float @score_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, i32 noundef %p.window, ptr noalias nocapture noundef readonly align 4 %t.slopes) #0 {
entry:
  %0 = getelementptr inbounds float, ptr %t.slopes, i32 %h
  %slopes = load float, ptr %0, align 4, !invariant.load !0, !noundef !0
  %difference = sub nsw i32 %kv_len, %q_len
  %sum = add nsw i32 %q_idx, %difference
  %sum_f = sitofp i32 %sum to float
  %kv_idx_f = sitofp i32 %kv_idx to float
  %difference1 = fsub contract float %sum_f, %kv_idx_f
  %product = fmul contract float %slopes, %difference1
  %difference2 = fsub contract float %score, %product
  ret float %difference2
}

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, i32 noundef %p.window, ptr noalias nocapture noundef readonly align 4 %t.slopes) #0 {
entry:
  %side = sub nsw i32 %kv_len, %q_len
  %side1 = add nsw i32 %side, %q_idx
  %0 = icmp sge i32 %side1, %kv_idx
  %1 = call i32 @llvm.smax.i32(i32 %p.window, i32 -67108863)
  %2 = call i32 @llvm.smin.i32(i32 %1, i32 67108863)
  %side3 = sub nsw i32 %side, %2
  %side4 = add nsw i32 %side3, %q_idx
  %3 = icmp slt i32 %side4, %kv_idx
  %4 = and i1 %0, %3
  ret i1 %4
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #1

attributes #0 = { nofree nosync nounwind willreturn memory(argmem: read) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!0 = !{}
