; ModuleID = 'butterfly'
source_filename = "butterfly"

; Function Attrs: nofree nosync nounwind willreturn memory(none)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale) #0 {
entry:
  %quotient = ashr i32 %q_idx, 7
  %quotient1 = ashr i32 %kv_idx, 7
  %0 = xor i32 %quotient, %quotient1
  %difference = sub nsw i32 %0, 1
  %1 = and i32 %0, %difference
  %2 = icmp eq i32 %1, 0
  ret i1 %2
}

attributes #0 = { nofree nosync nounwind willreturn memory(none) }
