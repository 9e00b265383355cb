// KERPLE's bias and the causal mask. Made into kerple.ll by
//   rustc -O -C panic=abort --crate-type=lib --emit=llvm-ir kerple.rs
#![allow(non_upper_case_globals)]

// The spec's names. A tensor is an array of no length: it is read through its address.
extern "C" {
    static q_len: i32;
    static kv_len: i32;
    static r1: [f32; 0];
    static r2: [f32; 0];
}

/// How far the key stands before the query; the last query belongs to the last key.
unsafe fn distance(q_idx: i32, kv_idx: i32) -> i32 {
    q_idx + (kv_len - q_len) - kv_idx
}

#[no_mangle]
pub unsafe extern "C" fn score_mod(score: f32, _b: i32, h: i32, q_idx: i32, kv_idx: i32) -> f32 {
    let far = distance(q_idx, kv_idx).max(0) as f32;
    let slope = *r1.as_ptr().add(h as usize);
    let bend = *r2.as_ptr().add(h as usize);
    score - slope * (1.0 + bend * far).ln()
}

#[no_mangle]
pub unsafe extern "C" fn mask_mod(_b: i32, _h: i32, q_idx: i32, kv_idx: i32) -> bool {
    distance(q_idx, kv_idx) >= 0
}
