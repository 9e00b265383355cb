// Tensors of every type and rank, indexed flat, by rows and through size_t; reads that may leave their row.
#include <stdbool.h>
#include <stddef.h>
extern const int q_len, kv_len, window, num_q_heads;
extern const float bias[];               // [num_q_heads, q_len, kv_len]
extern const float relative[];           // [num_q_heads, 2 * window + 1]
extern const _Float16 halves[][16];      // [num_q_heads, 16]
extern const bool flags[];               // [batch, kv_len]
extern const signed char *small;         // [kv_len]
static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
float score_mod(float score, int b, int h, int q_idx, int kv_idx) {
  const size_t at = ((size_t)h * q_len + q_idx) * kv_len + kv_idx;
  const int d = clamp(kv_idx - q_idx, -window, window) + window;
  return score + bias[at] + relative[h * (2 * window + 1) + d] + (float)halves[h][kv_idx & 15];
}
bool mask_mod(int b, int h, int q_idx, int kv_idx) {
  return flags[b * kv_len + kv_idx] || small[kv_idx] == (q_idx & 7) || flags[b * kv_len + kv_idx + 1];
}
