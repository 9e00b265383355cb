; ModuleID = 'tree'
source_filename = "tree"

; Function Attrs: nofree nosync nounwind willreturn memory(argmem: read)
define i1 @mask_mod(float noundef %score, i32 noundef range(i32 0, 16777216) %b, i32 noundef range(i32 0, 16777216) %h, i32 noundef range(i32 0, 16777216) %q_idx, i32 noundef range(i32 0, 16777216) %kv_idx, i32 noundef range(i32 1, 16777217) %batch, i32 noundef range(i32 1, 16777217) %num_q_heads, i32 noundef range(i32 1, 16777217) %num_kv_heads, i32 noundef range(i32 1, 16777217) %group_size, i32 noundef range(i32 1, 16777217) %q_len, i32 noundef range(i32 1, 16777217) %kv_len, float noundef %scale, ptr noalias nocapture noundef readonly align 4 %t.ancestors) #0 {
entry:
  %difference = sub nsw i32 %kv_len, %q_len
  %difference1 = sub nsw i32 %kv_idx, %difference
  %0 = icmp slt i32 %difference1, 0
  %offset = mul nsw i32 %q_idx, 12
  %1 = getelementptr inbounds i32, ptr %t.ancestors, i32 %offset
  %ancestors = load i32, ptr %1, align 4, !invariant.load !0, !noundef !0
  %2 = call i32 @llvm.smax.i32(i32 %ancestors, i32 -50331648)
  %3 = call i32 @llvm.smin.i32(i32 %2, i32 50331648)
  %side2 = add nsw i32 %difference, %3
  %4 = icmp eq i32 %side2, %kv_idx
  %5 = getelementptr inbounds i32, ptr %1, i32 1
  %ancestors5 = load i32, ptr %5, align 4, !invariant.load !0, !noundef !0
  %6 = call i32 @llvm.smax.i32(i32 %ancestors5, i32 -50331648)
  %7 = call i32 @llvm.smin.i32(i32 %6, i32 50331648)
  %side6 = add nsw i32 %difference, %7
  %8 = icmp eq i32 %side6, %kv_idx
  %9 = getelementptr inbounds i32, ptr %1, i32 2
  %ancestors9 = load i32, ptr %9, align 4, !invariant.load !0, !noundef !0
  %10 = call i32 @llvm.smax.i32(i32 %ancestors9, i32 -50331648)
  %11 = call i32 @llvm.smin.i32(i32 %10, i32 50331648)
  %side10 = add nsw i32 %difference, %11
  %12 = icmp eq i32 %side10, %kv_idx
  %13 = getelementptr inbounds i32, ptr %1, i32 3
  %ancestors13 = load i32, ptr %13, align 4, !invariant.load !0, !noundef !0
  %14 = call i32 @llvm.smax.i32(i32 %ancestors13, i32 -50331648)
  %15 = call i32 @llvm.smin.i32(i32 %14, i32 50331648)
  %side14 = add nsw i32 %difference, %15
  %16 = icmp eq i32 %side14, %kv_idx
  %17 = getelementptr inbounds i32, ptr %1, i32 4
  %ancestors17 = load i32, ptr %17, align 4, !invariant.load !0, !noundef !0
  %18 = call i32 @llvm.smax.i32(i32 %ancestors17, i32 -50331648)
  %19 = call i32 @llvm.smin.i32(i32 %18, i32 50331648)
  %side18 = add nsw i32 %difference, %19
  %20 = icmp eq i32 %side18, %kv_idx
  %21 = getelementptr inbounds i32, ptr %1, i32 5
  %ancestors21 = load i32, ptr %21, align 4, !invariant.load !0, !noundef !0
  %22 = call i32 @llvm.smax.i32(i32 %ancestors21, i32 -50331648)
  %23 = call i32 @llvm.smin.i32(i32 %22, i32 50331648)
  %side22 = add nsw i32 %difference, %23
  %24 = icmp eq i32 %side22, %kv_idx
  %25 = getelementptr inbounds i32, ptr %1, i32 6
  %ancestors25 = load i32, ptr %25, align 4, !invariant.load !0, !noundef !0
  %26 = call i32 @llvm.smax.i32(i32 %ancestors25, i32 -50331648)
  %27 = call i32 @llvm.smin.i32(i32 %26, i32 50331648)
  %side26 = add nsw i32 %difference, %27
  %28 = icmp eq i32 %side26, %kv_idx
  %29 = getelementptr inbounds i32, ptr %1, i32 7
  %ancestors29 = load i32, ptr %29, align 4, !invariant.load !0, !noundef !0
  %30 = call i32 @llvm.smax.i32(i32 %ancestors29, i32 -50331648)
  %31 = call i32 @llvm.smin.i32(i32 %30, i32 50331648)
  %side30 = add nsw i32 %difference, %31
  %32 = icmp eq i32 %side30, %kv_idx
  %33 = getelementptr inbounds i32, ptr %1, i32 8
  %ancestors33 = load i32, ptr %33, align 4, !invariant.load !0, !noundef !0
  %34 = call i32 @llvm.smax.i32(i32 %ancestors33, i32 -50331648)
  %35 = call i32 @llvm.smin.i32(i32 %34, i32 50331648)
  %side34 = add nsw i32 %difference, %35
  %36 = icmp eq i32 %side34, %kv_idx
  %37 = getelementptr inbounds i32, ptr %1, i32 9
  %ancestors37 = load i32, ptr %37, align 4, !invariant.load !0, !noundef !0
  %38 = call i32 @llvm.smax.i32(i32 %ancestors37, i32 -50331648)
  %39 = call i32 @llvm.smin.i32(i32 %38, i32 50331648)
  %side38 = add nsw i32 %difference, %39
  %40 = icmp eq i32 %side38, %kv_idx
  %41 = getelementptr inbounds i32, ptr %1, i32 10
  %ancestors41 = load i32, ptr %41, align 4, !invariant.load !0, !noundef !0
  %42 = call i32 @llvm.smax.i32(i32 %ancestors41, i32 -50331648)
  %43 = call i32 @llvm.smin.i32(i32 %42, i32 50331648)
  %side42 = add nsw i32 %difference, %43
  %44 = icmp eq i32 %side42, %kv_idx
  %45 = getelementptr inbounds i32, ptr %1, i32 11
  %ancestors45 = load i32, ptr %45, align 4, !invariant.load !0, !noundef !0
  %46 = call i32 @llvm.smax.i32(i32 %ancestors45, i32 -50331648)
  %47 = call i32 @llvm.smin.i32(i32 %46, i32 50331648)
  %side46 = add nsw i32 %difference, %47
  %48 = icmp eq i32 %side46, %kv_idx
  %49 = or i1 %4, %8
  %50 = or i1 %12, %16
  %51 = or i1 %20, %24
  %52 = or i1 %28, %32
  %53 = or i1 %36, %40
  %54 = or i1 %44, %48
  %55 = or i1 %49, %50
  %56 = or i1 %51, %52
  %57 = or i1 %53, %54
  %58 = or i1 %55, %56
  %59 = or i1 %58, %57
  %60 = or i1 %0, %59
  ret i1 %60
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #1

attributes #0 = { nofree nosync nounwind willreturn memory(argmem: read) }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!0 = !{}
