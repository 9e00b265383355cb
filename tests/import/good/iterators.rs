// Rust: iterators, match, saturating and euclidean arithmetic, unsigned arguments, unchecked reads.
#![allow(non_upper_case_globals)]
extern "C" {
    static q_len: i32;
    static kv_len: i32;
    static window: i32;
    static gain: f32;
    static doc: [i32; 0];
    static flags: [bool; 0];
}
#[no_mangle]
pub unsafe extern "C" fn mask_mod(b: u32, h: u32, q_idx: u32, kv_idx: u32) -> bool {
    let at = |i: u32| *doc.as_ptr().add(b as usize * kv_len as usize + i as usize);
    let near = (0..4u32).any(|i| q_idx.saturating_sub(i * 3) == kv_idx);
    let group = match h % 3 {
        0 => at(kv_idx),
        1 => 7,
        _ => (kv_idx as i32 - q_idx as i32).rem_euclid(5),
    };
    near || group == 2 || *flags.as_ptr().add(kv_idx as usize)
}
#[no_mangle]
pub unsafe extern "C" fn score_mod(score: f32, _b: i32, h: i32, q_idx: i32, kv_idx: i32) -> f32 {
  
    let distance = (q_idx + (kv_len - q_len) - kv_idx).min(window).max(-window) as f32;
    let cap = gain.abs().max(0.5);
    let squashed = cap * (score / cap).min(1.0).max(-1.0);
    squashed + distance.mul_add_free(0.125, (h as f32).sqrt())
}
trait MulAddFree {
    fn mul_add_free(self, by: Self, and: Self) -> Self;
}
impl MulAddFree for f32 {
    fn mul_add_free(self, by: f32, and: f32) -> f32 {
        self * by + and
    }
}
