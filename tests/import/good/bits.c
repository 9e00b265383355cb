// Unsigned and narrow integers, shifts, divisions of every sign, bit counts.
#include <stdbool.h>
#include <stdint.h>
static uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  return (x << 7) | (x >> 25);
}
bool mask_mod(int b, int h, int q_idx, int kv_idx) {
  const uint32_t hash = mix((uint32_t)(q_idx * 7919 + kv_idx) ^ (uint32_t)h << 28);
  const int16_t narrow = (int16_t)(hash >> 3);
  const uint8_t byte = (uint8_t)(hash * 3 + (uint32_t)b);
  const int signed_parts = (int)hash / 7 + (int)hash % -5 + narrow / (q_idx - kv_idx) + narrow % (kv_idx - 9);
  const uint32_t unsigned_parts = hash / 10u + hash % 1000003u + hash / (uint32_t)(q_idx - kv_idx - 3);
  return (signed_parts ^ (int)unsigned_parts ^ byte << 4) % 3 == 1 || __builtin_popcount(hash) > 20 ||
         __builtin_clz(hash | 1) > 4 || __builtin_ctz(hash | 0x100) > 6 || hash > 0xf0000000U || narrow > byte * 300;
}
