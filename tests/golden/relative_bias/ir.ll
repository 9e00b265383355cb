; ModuleID = 'relative_bias'
source_filename = "relative_bias"

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define float @score_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, ptr noalias nocapture noundef readonly align 4 %t.table) #0 {
entry:
  %difference = sub nsw i32 %kv_idx, %q_idx
  %0 = call i32 @llvm.smax.i32(i32 %difference, i32 -128)
  %1 = call i32 @llvm.smin.i32(i32 %0, i32 128)
  %sum = add nsw i32 %1, 128
  %2 = sext i32 %sum to i64
  %3 = sext i32 %h to i64
  %offset = mul nsw i64 %3, 257
  %4 = getelementptr inbounds float, ptr %t.table, i64 %offset
  %5 = getelementptr inbounds float, ptr %4, i64 %2
  %table = load float, ptr %5, align 4, !invariant.load !0, !noundef !0
  %sum1 = fadd contract float %score, %table
  ret float %sum1
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #1

attributes #0 = { nofree nosync nounwind willreturn memory(argmem: read) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!0 = !{}
