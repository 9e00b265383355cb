; expect: 2:1: expected top-level entity
bool mask_mod(int b, int h, int q_idx, int kv_idx) { return true; }
