// Loops: an early exit, one inside another, a bound known at run time under a constant one, sums of floats.
#include <stdbool.h>
extern const int q_len, kv_len, window, num_q_heads;
extern const int topk[];  // [num_q_heads, ceil_div(q_len, 8), 4]
extern const float taps[];
bool mask_mod(int b, int h, int q_idx, int kv_idx) {
  const int rows = (q_len + 7) / 8;
  const int *chosen = topk + ((long)h * rows + q_idx / 8) * 4;
  for (int i = 0; i < 4; ++i)
    if (chosen[i] == kv_idx / 8) return true;
  int hits = 0;
  for (int i = 0; i < 3 && i < window; ++i)
    for (int j = 0; j <= i; ++j) hits += (q_idx ^ kv_idx) % (i + j + 2) == j;
  return hits > 3;
}
float score_mod(float score, int b, int h, int q_idx, int kv_idx) {
  float sum = 0;
  for (int i = 0; i < 6; ++i) {
    if (i > q_idx) break;
    sum += taps[i] * (float)(kv_idx - i);
  }
  return score + sum * 0.01f;
}
