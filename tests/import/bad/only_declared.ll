; expect: no function @mask_mod
declare i1 @mask_mod(i32, i32, i32, i32)
