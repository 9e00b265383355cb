; What a vectoriser leaves: vectors of indices, a shuffle, a reduction, a read of several elements.
@doc = external constant [0 x i32]

declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>)
declare <4 x i32> @llvm.smax.v4i32(<4 x i32>, <4 x i32>)

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) {
  %one = insertelement <4 x i32> poison, i32 %q_idx, i64 0
  %all = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
  %apart = add <4 x i32> %all, <i32 0, i32 1, i32 -2, i32 3>
  %large = call <4 x i32> @llvm.smax.v4i32(<4 x i32> %apart, <4 x i32> <i32 5, i32 4, i32 3, i32 2>)
  %block = and i32 %kv_idx, -4
  %wide = sext i32 %block to i64
  %at = getelementptr i32, ptr @doc, i64 %wide
  %read = load <4 x i32>, ptr %at, align 4
  %equal = icmp eq <4 x i32> %read, %large
  %counts = zext <4 x i1> %equal to <4 x i32>
  %count = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %counts)
  %keep = icmp eq i32 %count, 0
  ret i1 %keep
}
