#!/usr/bin/env python3
"""Facet beside FlexAttention on one NVIDIA GPU, in one run: forward of attention variants, bf16, random normal inputs.

    bench/variants_gpu.py --facet build/release/facet --json results.json [--variants shipped further] [--length 8192 ...]
                          [--only NAME ...] [--tune]

FlexAttention compiled by torch.compile, its block mask made beforehand; what making it takes for a new length (compiled,
warm) is timed apart, and `needed` is the sum: what a call at a length not seen before costs. --tune also runs
mode="max-autotune-no-cudagraphs" and keeps the better of the two. Facet needs nothing for a new length: its time is the whole.
"""
import math
import sys

import needs

needs.modules("torch")

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import common
from events import median_ms
from flex import further
from flex import shipped
from flex.variant import BATCH, DIM, HEADS
from peers_gpu import facet, rotate, versions

SETS = {"shipped": shipped.variants, "further": further.variants}
torch._dynamo.config.cache_size_limit = 1000


def flex(n, variant, mode):
    """(forward ms, block mask ms): compiled, warm, for this length."""
    torch._dynamo.reset()
    compiled = torch.compile(flex_attention, dynamic=False, mode=mode)
    take = rotate(BATCH, HEADS, n, DIM)
    mask, mask_ms = None, 0.0
    if variant.mask_mod is not None:
        make = torch.compile(create_block_mask)
        mask = make(variant.mask_mod, *variant.mask_size(n), device="cuda")
        mask_ms = median_ms(lambda: make(variant.mask_mod, *variant.mask_size(n), device="cuda"))
    forward = median_ms(lambda: compiled(*take(), score_mod=variant.score_mod, block_mask=mask, scale=variant.scale))
    return forward, mask_ms


def measure(arguments, name, variant, n, modes):
    """A row of the record; without `facet_ms` where a side failed."""
    mine = facet(arguments.facet, variant.spec, (BATCH, HEADS, n, DIM), "bf16", *variant.extra)
    row = {"variant": name, "length": n, "facet": mine, "flex": {}}
    for mode in modes:
        try:
            forward, mask_ms = flex(n, variant, mode)
            row["flex"][mode or "default"] = {"forward_ms": forward, "block_mask_ms": mask_ms}
        except Exception as error:  # a candidate that does not fit is the peer's result, not ours
            row["flex"][mode or "default"] = {"error": str(error)[:300]}
        torch.cuda.empty_cache()
    good = [r for r in row["flex"].values() if "forward_ms" in r]
    if "error" in mine or not good:
        print(f"{name:18} N{n:<6} failed: {mine.get('error', row['flex'])}", flush=True)
        return row
    best = min(r["forward_ms"] for r in good)
    mask_ms = min(r["block_mask_ms"] for r in good)
    time = mine["time_ms"]["median"]
    row.update(facet_ms=time, flex_ms=best, block_mask_ms=mask_ms, ratio=best / time, needed_ratio=(best + mask_ms) / time)
    print(f"{name:18} N{n:<6} flex {best:8.3f} + mask {mask_ms:6.3f} ms   facet {time:8.3f} ms   "
          f"flex / facet {row['ratio']:5.2f}, with its mask {row['needed_ratio']:5.2f}", flush=True)
    return row


def summary(rows, ratio):
    """Of flex / facet: the geometric mean, and the smallest with its variant."""
    least = min(rows, key=lambda row: row[ratio])
    mean = math.exp(sum(math.log(row[ratio]) for row in rows) / len(rows))
    return {"geometric_mean": mean, "least": least[ratio], "least_variant": least["variant"]}


def good(rows):
    """Those of which both sides were timed."""
    return [row for row in rows if "facet_ms" in row]


def summaries(done):
    return {ratio: summary(done, ratio) for ratio in ("ratio", "needed_ratio") if done}


def save(arguments, rows):
    common.save(arguments, {**versions(), "shape": [BATCH, HEADS, "N", DIM], "summary": summaries(good(rows)), "variants": rows})


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--variants", nargs="+", choices=list(SETS), default=["shipped"],
                        help="those of specs/, those of bench/variants/ [shipped]")
    parser.add_argument("--length", type=int, nargs="+", default=[8192, 32768])
    parser.add_argument("--only", nargs="+", help="names of variants")
    parser.add_argument("--tune", action="store_true", help="max-autotune as well (a minute a variant)")
    arguments = parser.parse_args()
    modes = [None, "max-autotune-no-cudagraphs"] if arguments.tune else [None]
    rows = []
    for n in arguments.length:
        for of in arguments.variants:
            for name, variant in SETS[of](n).items():
                if not arguments.only or name in arguments.only:
                    rows.append(measure(arguments, name, variant, n, modes))
                    save(arguments, rows)
    done = good(rows)
    for ratio, of in summaries(done).items():
        print(f"flex / facet{', with its mask' if ratio == 'needed_ratio' else ''}: geometric mean {of['geometric_mean']:.2f}, "
              f"least {of['least']:.2f} ({of['least_variant']}), of {len(done)} variants")
    return 0 if len(done) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
