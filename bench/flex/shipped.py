"""Variants of specs/ for FlexAttention. Tables hold the specs' examples."""
import math

import torch

from flex.variant import BATCH, HEADS, Variant


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return (q >= k) & (q - k < 1024)


def dilated(b, h, q, k):
    return (q >= k) & ((q - k) % 4 == 0)


def butterfly(b, h, q, k):
    x = (q // 128) ^ (k // 128)
    return (x & (x - 1)) == 0


def neighbourhood_2d(b, h, q, k):
    return ((q // 32 - k // 32).abs() <= 3) & ((q % 32 - k % 32).abs() <= 3)


def t5_bucket(q, k):
    distance = torch.clamp(q - k, min=0)
    far = 16 + (torch.log(torch.clamp(distance, min=1) / 16.0) / math.log(128 / 16) * 16).to(torch.int32)
    return torch.clamp(torch.where(distance < 16, distance, far), 0, 31)


def variants(n, device="cuda"):
    slopes = torch.exp2(-8.0 * (torch.arange(HEADS, device=device) + 1) / HEADS)
    documents = torch.sqrt(torch.arange(n, device=device) * 64 / n).to(torch.int32)
    prefix_len = torch.clamp(n // 4 + torch.arange(BATCH, device=device), max=n)
    table = torch.randn(HEADS, 257, device=device)
    buckets = torch.randn(32, HEADS, device=device)
    head = torch.arange(HEADS, device=device)[:, None, None]
    row = torch.arange(n // 128, device=device)[None, :, None]
    column = torch.arange(n // 128, device=device)[None, None, :]
    ancestors = (torch.arange(n, device=device)[:, None] + 1 >> torch.arange(12, device=device)[None, :]) - 1

    def tree(b, h, q, k):
        is_ancestor = ancestors[q, 0] == k
        for d in range(1, 12):
            is_ancestor = is_ancestor | (ancestors[q, d] == k)
        return is_ancestor

    layout = (row == column) | (column == 0) | ((head + row + column) % 4 == 0)
    return {
        "causal": Variant("causal", mask_mod=causal),
        "window_1024": Variant("sliding_window", mask_mod=window, extra=("--set", "window=1024")),
        "prefix_lm": Variant("prefix_lm", mask_mod=lambda b, h, q, k: (k < prefix_len[b]) | (q >= k), by_batch=True),
        "document": Variant("document", mask_mod=lambda b, h, q, k: (documents[q] == documents[k]) & (q >= k)),
        "dilated_4": Variant("dilated", mask_mod=dilated, extra=("--set", f"window={n}")),
        "butterfly": Variant("butterfly", mask_mod=butterfly),
        "tree": Variant("tree", mask_mod=tree),
        "neighbourhood_2d": Variant("neighbourhood_2d", mask_mod=neighbourhood_2d),
        "block_sparse": Variant("block_sparse", mask_mod=lambda b, h, q, k: layout[h, q // 128, k // 128], by_head=True),
        "alibi_causal": Variant("alibi", lambda s, b, h, q, k: s + slopes[h] * (k - q), causal),
        "softcap_30": Variant("softcap", lambda s, b, h, q, k: 30 * torch.tanh(s / 30)),
        "relative_bias": Variant("relative_bias", lambda s, b, h, q, k: s + table[h, torch.clamp(k - q, -128, 128) + 128], learned=(table,)),
        "t5_bias": Variant("t5_bias", lambda s, b, h, q, k: s + buckets[t5_bucket(q, k), h], causal, scale=1.0, learned=(buckets,)),
    }
