"""A sliding window over a million tokens, on the CPU: the time and memory are those of the window, not of all pairs.

    python million_tokens.py [TOKENS]
"""
import sys
import time

import torch

from facet.torch import attention, flex_attention, create_block_mask

tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 20
WINDOW = 64

SPEC = """
    attention window
    param window : i32 = 64
    mask_mod = q_idx >= kv_idx and q_idx - kv_idx < window
"""

torch.manual_seed(0)
q, k, v = (torch.randn(1, 1, tokens, 16) for _ in range(3))
attention(q[:, :, :1000], k[:, :, :1000], v[:, :, :1000], SPEC)  # compiles; the length is no part of a kernel
begun = time.perf_counter()
o = attention(q, k, v, SPEC, window=WINDOW)
print(f"{tokens:,} tokens, a window of {WINDOW}: {time.perf_counter() - begun:.2f} s; all pairs would be {tokens**2 / 2:.1e}")

# The last row, by hand.
last = torch.softmax(q[0, 0, -1] @ k[0, 0, -WINDOW:].T / 4, -1) @ v[0, 0, -WINDOW:]
torch.testing.assert_close(o[0, 0, -1], last, atol=1e-5, rtol=1e-5)

# The same as a program of FlexAttention. PyTorch's own mask would look at all blocks; this one at nothing.
mask = create_block_mask(lambda b, h, q_idx, kv_idx: (q_idx >= kv_idx) & (q_idx - kv_idx < WINDOW), None, None, tokens, tokens, "cpu")
torch.testing.assert_close(flex_attention(q, k, v, block_mask=mask), o)
