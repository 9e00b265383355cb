; ModuleID = 'softcap'
source_filename = "softcap"

; Function Attrs: nofree nosync nounwind willreturn memory(none)
define float @score_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, float noundef %p.cap) #0 {
entry:
  %quotient = fdiv contract float %score, %p.cap
  %0 = call contract float @llvm.tanh.f32(float %quotient)
  %product = fmul contract float %p.cap, %0
  ret float %product
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.tanh.f32(float) #1

attributes #0 = { nofree nosync nounwind willreturn memory(none) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
