// Packed documents, causal, in a window: helper functions, pointers into a row, short circuits.
#include <stdbool.h>
extern const int q_len, kv_len, window;
extern const int doc[];
static int position(int q_idx) { return q_idx + (kv_len - q_len); }
bool mask_mod(int b, int h, int q_idx, int kv_idx) {
  const int *row = doc + b * kv_len;
  const int pos = position(q_idx);
  const int distance = pos - kv_idx;
  return distance >= 0 && distance < window && row[pos < 0 ? 0 : pos] == row[kv_idx];
}
