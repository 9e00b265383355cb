// Tables and switches, early returns, an array of arrays.
#include <stdbool.h>
extern const int kv_len;
static const int widths[5] = {3, 1, 4, 1, 5};
static const signed char steps[2][3] = {{1, 2, 3}, {-4, 5, -6}};
static float weight(int h) {
  switch (h & 3) {
    case 0: return 0.5f;
    case 1: return 2.0f;
    case 3: return -1.25f;
    default: return 0.0f;
  }
}
bool mask_mod(int b, int h, int q_idx, int kv_idx) {
  if (kv_idx == 0) return true;
  if (q_idx < kv_idx) return false;
  return (q_idx - kv_idx) % widths[h % 5] == 0 || kv_idx + steps[b & 1][q_idx % 3] == q_idx;
}
float score_mod(float score, int b, int h, int q_idx, int kv_idx) { return score * weight(h) + weight(b); }
