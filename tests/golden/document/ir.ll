; ModuleID = 'document'
source_filename = "document"

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, ptr noalias nocapture noundef readonly align 4 %t.document_id) #0 {
entry:
  %difference = sub nsw i32 %kv_len, %q_len
  %sum = add nsw i32 %q_idx, %difference
  %0 = call i32 @llvm.smax.i32(i32 %sum, i32 0)
  %1 = sext i32 %0 to i64
  %2 = sext i32 %kv_len to i64
  %3 = sext i32 %b to i64
  %offset = mul nsw i64 %3, %2
  %4 = getelementptr inbounds i32, ptr %t.document_id, i64 %offset
  %5 = getelementptr inbounds i32, ptr %4, i64 %1
  %document_id = load i32, ptr %5, align 4, !invariant.load !0, !noundef !0
  %6 = sext i32 %kv_idx to i64
  %7 = getelementptr inbounds i32, ptr %4, i64 %6
  %document_id2 = load i32, ptr %7, align 4, !invariant.load !0, !noundef !0
  %8 = icmp eq i32 %document_id, %document_id2
  %9 = icmp sge i32 %sum, %kv_idx
  %10 = and i1 %8, %9
  ret i1 %10
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

attributes #0 = { nofree nosync nounwind willreturn memory(argmem: read) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!0 = !{}
