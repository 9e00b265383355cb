; expect: no function @mask_mod
