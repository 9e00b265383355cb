define dso_local zeroext i1 @mask_mod(i32 noundef %0, i32 noundef %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr #0 {
  %33 = icmp sgt i32 %32, 0
  select i1 %33, label %34, label %82
