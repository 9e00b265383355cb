; ModuleID = 'dropout'
source_filename = "dropout"

; Function Attrs: nofree nosync nounwind willreturn memory(none)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale) #0 {
entry:
  %side = sub nsw i32 %kv_len, %q_len
  %side1 = add nsw i32 %side, %q_idx
  %0 = icmp sge i32 %side1, %kv_idx
  ret i1 %0
}

attributes #0 = { nofree nosync nounwind willreturn memory(none) }
