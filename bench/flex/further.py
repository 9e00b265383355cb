"""The variants of bench/variants/ for FlexAttention: papers' and practice's masks and scores that no file of specs/ has.
Tables hold the specs' examples; bench/accuracy/check_flex.py compares both."""
import math
import os

import torch

from flex.variant import BATCH, HEADS, Variant

SPECS = os.path.relpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "variants"))


def causal(b, h, q, k):
    return q >= k


def axial(b, h, q, k):
    return torch.where(h % 2 == 0, q // 64 == k // 64, q % 64 == k % 64)


def chunked(b, h, q, k):
    return (q // 2048 == k // 2048) & (q >= k)


def log_sparse(b, h, q, k):
    distance = q - k
    return (distance >= 0) & ((distance < 8) | ((distance & (distance - 1)) == 0))


def neighbourhood_3d(b, h, q, k):
    frames = (q // 256 - k // 256).abs() <= 2
    rows = (q // 16 % 16 - k // 16 % 16).abs() <= 2
    return frames & rows & ((q % 16 - k % 16).abs() <= 2)


def soft_cap(s, b, h, q, k):
    return 50.0 * torch.tanh(s / 50.0)


def short_window(b, h, q, k):
    return (q >= k) & (q - k < 512)


def streaming(b, h, q, k):
    return (q >= k) & ((k < 4) | (q - k < 1024))


def swin_window(b, h, q, k):
    return q // 64 == k // 64


def log_length_scale(s, b, h, q, k):
    return s * (torch.log(q + 1.0) * 0.16)


def t5_bucket(q, k):
    n = (q - k).abs()
    far = 8 + (torch.log(torch.clamp(n, min=1) / 8.0) / math.log(128 / 8.0) * 8).to(torch.int32)
    return torch.where(n < 8, n, torch.clamp(far, max=15)) + torch.where(k > q, 16, 0)


def masks_by_table(n, device):
    i = torch.arange(n, device=device, dtype=torch.int32)
    heads = torch.arange(HEADS, device=device, dtype=torch.int32)
    batch = torch.arange(BATCH, device=device, dtype=torch.int32)

    node = i // 128 % 64
    nodes = torch.arange(64, device=device)
    sees = (nodes[None, :] <= nodes[:, None]) & ((nodes[:, None] - nodes[None, :]) % 3 == 0)
    row = torch.arange(-(-n // 64), device=device, dtype=torch.int32)[None, :, None]
    pick = torch.arange(8, device=device, dtype=torch.int32)[None, None, :]
    blocks = (heads[:, None, None] * 7 + row * 5 + pick * 37) % torch.clamp(row + 1, min=1)
    dilation = 1 << (heads % 4)
    span = torch.where(i // 256 % 2 == 1, i // 512, -1)
    start = i - i % 700
    first = 500 * (batch + 1)
    length = n - 700 * (batch + 1)
    ids = i // 1024
    time = (0.25 * i + 3.0 * torch.sin(0.01 * i))[None].repeat(BATCH, 1)
    word = torch.arange(1024, device=device, dtype=torch.int64)[:, None]
    column = torch.arange(32, device=device, dtype=torch.int64)[None, :]
    words = ((word * 2654435 + column * 40503) ^ (word << (column % 13))).to(torch.int32)

    def block_routing(b, h, q, k):
        routed = blocks[h, q // 64, 0] == k // 64
        for j in range(1, 8):
            routed = routed | (blocks[h, q // 64, j] == k // 64)
        return (q >= k) & routed

    def dilated_heads(b, h, q, k):
        distance, step = q - k, dilation[h]
        return (k < 64) | ((distance >= 0) & (distance < 256 * step) & (distance % step == 0))

    def timestamps(b, h, q, k):
        age = time[b, q] - time[b, k]
        return (age >= 0.0) & (age <= 200.0)

    def tree_words(b, h, q, k):
        bits = words[q % 1024, k % 1024 // 32] >> (k % 32)
        return (q // 1024 == k // 1024) & ((bits & 1) == 1)

    return {
        "ancestors": dict(mask_mod=lambda b, h, q, k: sees[node[q], node[k]]),
        "block_routing": dict(mask_mod=block_routing, by_head=True),
        "dilated_heads": dict(mask_mod=dilated_heads, by_head=True),
        "image_spans": dict(mask_mod=lambda b, h, q, k: (q >= k) | ((span[q] == span[k]) & (span[q] >= 0))),
        "packed_offsets": dict(mask_mod=lambda b, h, q, k: (k >= start[q]) & (k <= q)),
        "padding_left": dict(mask_mod=lambda b, h, q, k: (q >= k) & (k >= first[b]), by_batch=True),
        "padding_right": dict(mask_mod=lambda b, h, q, k: k < length[b], by_batch=True),
        "prefix_documents": dict(mask_mod=lambda b, h, q, k: (ids[q] == ids[k]) & ((q >= k) | (k % 1024 < 256))),
        "timestamps": dict(mask_mod=timestamps, by_batch=True),
        "tree_words": dict(mask_mod=tree_words),
    }


def scores(n, device):
    i = torch.arange(n, device=device, dtype=torch.int32)
    heads = torch.arange(HEADS, device=device)
    steps = torch.arange(8, device=device)

    slopes = torch.exp2(-8.0 * (heads + 1) / HEADS)
    ids = i // 1024
    w1, b1 = 0.3 * torch.cos(1.0 * steps), 0.1 * torch.sin(2.0 * steps)
    w2 = 0.2 * torch.cos(1.0 * heads[:, None] + 3.0 * steps[None, :])
    gate = (-0.01 * i)[None, None].repeat(BATCH, HEADS, 1)
    temperature = 0.5 + 0.1 * heads
    u, w = torch.randn(HEADS, n, 8, device=device), torch.randn(HEADS, n, 8, device=device)
    pair = torch.randn(n, n, device=device).to(torch.bfloat16)
    side = torch.arange(15, device=device)
    swin = 0.1 * torch.sin(heads[:, None, None] + 3.0 * side[None, :, None] + 5.0 * side[None, None, :])
    buckets = 0.25 * torch.cos(0.5 * torch.arange(32, device=device)[:, None] + heads[None, :])

    def fire(s, b, h, q, k):
        x = torch.log(0.1 * torch.clamp(q - k, min=0) + 1.0) / torch.log(0.1 * torch.clamp(q, min=64) + 1.0)
        for j in range(8):
            s = s + w2[h, j] * torch.relu(w1[j] * x + b1[j])
        return s

    def low_rank_bias(s, b, h, q, k):
        bias = u[h, q, 0] * w[h, k, 0]
        for j in range(1, 8):
            bias = bias + u[h, q, j] * w[h, k, j]
        return s + 0.1 * bias

    def swin_bias(s, b, h, q, k):
        return s + swin[h, q % 64 // 8 - k % 64 // 8 + 7, q % 8 - k % 8 + 7]

    return {
        "document_alibi": dict(score_mod=lambda s, b, h, q, k: s - slopes[h] * (q - k),
                               mask_mod=lambda b, h, q, k: (q >= k) & (ids[q] == ids[k])),
        "fire": dict(score_mod=fire, mask_mod=causal),
        "forgetting_gate": dict(score_mod=lambda s, b, h, q, k: s + gate[b, h, q] - gate[b, h, k], mask_mod=causal),
        "head_temperature": dict(score_mod=lambda s, b, h, q, k: s * temperature[h], mask_mod=causal),
        "log_length_scale": dict(score_mod=log_length_scale, mask_mod=causal),
        "low_rank_bias": dict(score_mod=low_rank_bias, mask_mod=causal),
        "pair_bias": dict(score_mod=lambda s, b, h, q, k: s + pair[q, k]),
        "softcap_window": dict(score_mod=soft_cap, mask_mod=short_window),
        "swin_bias": dict(score_mod=swin_bias, mask_mod=swin_window),
        "t5_encoder": dict(score_mod=lambda s, b, h, q, k: s + buckets[t5_bucket(q, k), h]),
    }, {"low_rank_bias": {"u": u, "w": w}, "pair_bias": {"pair": pair}}


def variants_and_tables(n, device="cuda"):
    """The variants, and of each the tables that have no example in its spec, by name."""
    by_score, tables = scores(n, device)
    every = {
        "axial": dict(mask_mod=axial, by_head=True),
        "chunked": dict(mask_mod=chunked),
        "log_sparse": dict(mask_mod=log_sparse),
        "neighbourhood_3d": dict(mask_mod=neighbourhood_3d),
        "streaming": dict(mask_mod=streaming),
        **masks_by_table(n, device),
        **by_score,
    }
    made = {name: Variant(os.path.join(SPECS, name + ".fa"), **every[name]) for name in sorted(every)}
    return made, tables


def variants(n, device="cuda"):
    return variants_and_tables(n, device)[0]
