// BigBird's mask. Made into bigbird.ll by
//   clang -O2 -S -emit-llvm bigbird.c
#include <stdbool.h>

// The spec's names; a tensor would be `extern const int doc[];`.
extern const int kv_len;
extern const int window;

enum { kBlock = 64, kGlobalBlocks = 1, kRandomBlocks = 3 };

// A good 32-bit mixer: every bit of x reaches every bit of the result.
static unsigned mix(unsigned x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

bool mask_mod(int b, int h, int q_idx, int kv_idx) {
  const int q_block = q_idx / kBlock;
  const int kv_block = kv_idx / kBlock;
  const unsigned num_blocks = (kv_len + kBlock - 1) / kBlock;
  if (q_block < kGlobalBlocks || kv_block < kGlobalBlocks) return true;
  const int distance = q_block < kv_block ? kv_block - q_block : q_block - kv_block;
  if (distance <= window / 2) return true;
  for (int i = 0; i < kRandomBlocks; ++i) {
    const unsigned seed = (unsigned)(h * 1000003 + q_block * kRandomBlocks + i);
    if (mix(seed) % num_blocks == (unsigned)kv_block) return true;
  }
  return false;
}
