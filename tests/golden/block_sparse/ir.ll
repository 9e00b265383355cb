; ModuleID = 'block_sparse'
source_filename = "block_sparse"

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, ptr noalias nocapture noundef readonly align 1 %t.layout) #0 {
entry:
  %quotient = ashr i32 %kv_idx, 7
  %0 = sext i32 %quotient to i64
  %1 = add nsw i32 %kv_len, 127
  %quotient1 = ashr i32 %1, 7
  %2 = sext i32 %quotient1 to i64
  %quotient2 = ashr i32 %q_idx, 7
  %3 = sext i32 %quotient2 to i64
  %offset = mul nsw i64 %3, %2
  %4 = add nsw i32 %q_len, 127
  %quotient3 = ashr i32 %4, 7
  %5 = sext i32 %quotient3 to i64
  %stride = mul nsw i64 %2, %5
  %6 = sext i32 %h to i64
  %offset4 = mul nsw i64 %6, %stride
  %7 = getelementptr inbounds i8, ptr %t.layout, i64 %offset4
  %8 = getelementptr inbounds i8, ptr %7, i64 %offset
  %9 = getelementptr inbounds i8, ptr %8, i64 %0
  %layout = load i8, ptr %9, align 1, !invariant.load !0, !noundef !0
  %layout5 = icmp ne i8 %layout, 0
  ret i1 %layout5
}

attributes #0 = { nofree nosync nounwind willreturn memory(argmem: read) }

!0 = !{}
