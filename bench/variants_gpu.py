#!/usr/bin/env python3
"""Facet beside FlexAttention on one NVIDIA GPU, in one run: forward of attention variants, bf16, random normal inputs.

    bench/variants_gpu.py --facet build/release/facet --json results.json [--length 8192 ...] [--only NAME ...] [--tune]

FlexAttention compiled by torch.compile, its block mask made beforehand; what making it takes for a new length (compiled,
warm) is timed apart, and `needed` is the sum: what a call at a length not seen before costs. --tune also runs
mode="max-autotune-no-cudagraphs" and keeps the better of the two. Facet needs nothing for a new length: its time is the whole.
"""
import math
import sys

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import common
from peers_gpu import facet, median_ms, rotate, versions

BATCH, HEADS, DIM = 2, 16, 128
torch._dynamo.config.cache_size_limit = 1000


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return (q >= k) & (q - k < 1024)


def dilated(b, h, q, k):
    return (q >= k) & ((q - k) % 4 == 0)


def butterfly(b, h, q, k):
    x = (q // 128) ^ (k // 128)
    return (x & (x - 1)) == 0


def t5_bucket(q, k):
    distance = torch.clamp(q - k, min=0)
    far = 16 + (torch.log(torch.clamp(distance, min=1) / 16.0) / math.log(128 / 16) * 16).to(torch.int32)
    return torch.clamp(torch.where(distance < 16, distance, far), 0, 31)


def variants(n):
    """name -> (spec, facet's extra arguments, score_mod or None, mask_mod or None). Tables hold what specs/ give as examples."""
    device = "cuda"
    slopes = torch.exp2(-8.0 * (torch.arange(HEADS, device=device) + 1) / HEADS)
    documents = torch.sqrt(torch.arange(n, device=device) * 64 / n).to(torch.int32)
    prefix_len = torch.clamp(n // 4 + torch.arange(BATCH, device=device), max=n)
    table = torch.randn(HEADS, 257, device=device)
    buckets = torch.randn(32, HEADS, device=device)
    head = torch.arange(HEADS, device=device)[:, None, None]
    row = torch.arange(n // 128, device=device)[None, :, None]
    column = torch.arange(n // 128, device=device)[None, None, :]
    layout = (row == column) | (column == 0) | ((head + row + column) % 4 == 0)
    return {
        "causal": ("causal", [], None, causal),
        "window_1024": ("sliding_window", ["--set", "window=1024"], None, window),
        "prefix_lm": ("prefix_lm", [], None, lambda b, h, q, k: (k < prefix_len[b]) | (q >= k)),
        "document": ("document", [], None, lambda b, h, q, k: (documents[q] == documents[k]) & (q >= k)),
        "dilated_4": ("dilated", ["--set", f"window={n}"], None, dilated),
        "butterfly": ("butterfly", [], None, butterfly),
        "block_sparse": ("block_sparse", [], None, lambda b, h, q, k: layout[h, q // 128, k // 128]),
        "alibi_causal": ("alibi", [], lambda s, b, h, q, k: s + slopes[h] * (k - q), causal),
        "softcap_30": ("softcap", [], lambda s, b, h, q, k: 30 * torch.tanh(s / 30), None),
        "relative_bias": ("relative_bias", [],
                          lambda s, b, h, q, k: s + table[h, torch.clamp(k - q, -128, 128) + 128], None),
        "t5_bias": ("t5_bias", [], lambda s, b, h, q, k: s + buckets[t5_bucket(q, k), h], causal),
    }


def flex(n, score_mod, mask_mod, mode, scale):
    """(forward ms, block mask ms): compiled, warm, for this length."""
    torch._dynamo.reset()
    compiled = torch.compile(flex_attention, dynamic=False, mode=mode)
    take = rotate(BATCH, HEADS, n, DIM)
    mask, mask_ms = None, 0.0
    if mask_mod is not None:
        make = torch.compile(create_block_mask)
        captured = mask_mod.__code__.co_freevars
        size = (BATCH if "prefix_len" in captured else None, HEADS if "layout" in captured else None, n, n)
        mask = make(mask_mod, *size, device="cuda")
        mask_ms = median_ms(lambda: make(mask_mod, *size, device="cuda"))
    forward = median_ms(lambda: compiled(*take(), score_mod=score_mod, block_mask=mask, scale=scale))
    return forward, mask_ms


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--length", type=int, nargs="+", default=[8192, 32768])
    parser.add_argument("--only", nargs="+", help="names of variants")
    parser.add_argument("--tune", action="store_true", help="max-autotune as well (a minute a variant)")
    arguments = parser.parse_args()
    rows = []
    modes = [None, "max-autotune-no-cudagraphs"] if arguments.tune else [None]
    for n in arguments.length:
        for name, (spec, extra, score_mod, mask_mod) in variants(n).items():
            if arguments.only and name not in arguments.only:
                continue
            mine = facet(arguments.facet, spec, (BATCH, HEADS, n, DIM), "bf16", *extra)
            row = {"variant": name, "length": n, "facet": mine, "flex": {}}
            rows.append(row)
            for mode in modes:
                try:
                    forward, mask_ms = flex(n, score_mod, mask_mod, mode, 1.0 if name == "t5_bias" else None)
                    row["flex"][mode or "default"] = {"forward_ms": forward, "block_mask_ms": mask_ms}
                except Exception as error:  # a candidate that does not fit is the peer's result, not ours
                    row["flex"][mode or "default"] = {"error": str(error)[:300]}
                torch.cuda.empty_cache()
            good = [r for r in row["flex"].values() if "forward_ms" in r]
            if "error" in mine or not good:
                print(f"{name:16} N{n:<6} failed: {mine.get('error', row['flex'])}", flush=True)
                continue
            best = min(r["forward_ms"] for r in good)
            mask_ms = min(r["block_mask_ms"] for r in good)
            time = mine["time_ms"]["median"]
            row.update(facet_ms=time, flex_ms=best, block_mask_ms=mask_ms, needed_ratio=(best + mask_ms) / time)
            print(f"{name:16} N{n:<6} flex {best:8.3f} + mask {mask_ms:6.3f} ms   facet {time:8.3f} ms   "
                  f"flex / facet {best / time:5.2f}, with its mask {(best + mask_ms) / time:5.2f}", flush=True)
    common.save(arguments, {**versions(), "shape": [BATCH, HEADS, "N", DIM], "variants": rows})
    return 0 if all("facet_ms" in row for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
