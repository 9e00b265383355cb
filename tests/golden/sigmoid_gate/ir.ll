; ModuleID = 'sigmoid_gate'
source_filename = "sigmoid_gate"

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define float @score_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, float noundef %p.threshold, ptr noalias nocapture noundef readonly align 4 %t.sharpness) #0 {
entry:
  %0 = getelementptr inbounds float, ptr %t.sharpness, i32 %h
  %sharpness = load float, ptr %0, align 4, !invariant.load !0, !noundef !0
  %difference = fsub contract float %score, %p.threshold
  %product = fmul contract float %sharpness, %difference
  %1 = call contract float @fa.sigmoid(float %product)
  %product1 = fmul contract float %score, %1
  ret float %product1
}

; Function Attrs: nounwind willreturn memory(none)
declare float @fa.sigmoid(float) #1

attributes #0 = { nofree nosync nounwind willreturn memory(argmem: read) }
attributes #1 = { nounwind willreturn memory(none) }

!0 = !{}
