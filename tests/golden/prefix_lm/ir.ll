; ModuleID = 'prefix_lm'
source_filename = "prefix_lm"

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, ptr noalias nocapture noundef readonly align 4 %t.prefix_len) #0 {
entry:
  %0 = getelementptr inbounds i32, ptr %t.prefix_len, i32 %b
  %prefix_len = load i32, ptr %0, align 4, !invariant.load !0, !noundef !0
  %1 = icmp slt i32 %kv_idx, %prefix_len
  %side = sub nsw i32 %kv_len, %q_len
  %side1 = add nsw i32 %side, %q_idx
  %2 = icmp sge i32 %side1, %kv_idx
  %3 = or i1 %1, %2
  ret i1 %3
}

attributes #0 = { nofree nosync nounwind willreturn memory(argmem: read) }

!0 = !{}
