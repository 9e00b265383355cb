// The functions that are known, by C's names.
#include <math.h>
#include <stdlib.h>
#include <stdbool.h>
extern const float gain;
float score_mod(float score, int b, int h, int q_idx, int kv_idx) {
  const float x = (float)(q_idx - kv_idx) * 0.125f;
  float y = fabsf(score) + floorf(x) + ceilf(x) + truncf(score * 3.0f) + sqrtf(fabsf(x)) + expf(-fabsf(x));
  y += exp2f(-fabsf(score)) + logf(1.0f + fabsf(x)) + log2f(2.0f + fabsf(score)) + tanhf(score) + erff(x) + sinf(x) + cosf(x);
  y += fminf(score, x) + fmaxf(score, 0.25f) + (float)(unsigned)(q_idx + 7) + (float)abs(q_idx - kv_idx) + gain;
  return isnan(y) ? 0.0f : y + (float)(int)(score * 2.5037f) + (float)(unsigned char)(fabsf(score) * 9.0137f);
}
