; ModuleID = 'global_window'
source_filename = "global_window"

; Function Attrs: nofree nosync nounwind willreturn memory(none)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, i32 noundef %p.radius, i32 noundef %p.num_global) #0 {
entry:
  %side = sub nsw i32 %kv_len, %q_len
  %0 = call i32 @llvm.smax.i32(i32 %p.radius, i32 -67108863)
  %1 = call i32 @llvm.smin.i32(i32 %0, i32 67108863)
  %side1 = sub nsw i32 %side, %1
  %side2 = add nsw i32 %side1, %q_idx
  %2 = icmp sle i32 %side2, %kv_idx
  %side4 = add nsw i32 %side, %1
  %side5 = add nsw i32 %side4, %q_idx
  %3 = icmp sle i32 %kv_idx, %side5
  %4 = and i1 %2, %3
  %5 = icmp slt i32 %kv_idx, %p.num_global
  %6 = or i1 %4, %5
  %sum = add nsw i32 %q_idx, %side
  %7 = icmp slt i32 %sum, %p.num_global
  %8 = or i1 %6, %7
  ret i1 %8
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #1

attributes #0 = { nofree nosync nounwind willreturn memory(none) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
