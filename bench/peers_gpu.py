#!/usr/bin/env python3
"""Facet beside PyTorch's attention on one NVIDIA GPU, in one run: forward, random normal inputs, specs/full.fa and
specs/causal.fa against scaled_dot_product_attention.

    bench/peers_gpu.py --facet build/release/facet --json results.json [--rows bf16 causal f32]

bf16     with FlashAttention-2, which the ratio is taken of, and cuDNN; over head_dim and length
causal   the same with the causal mask, and with four query heads to a key head
f32      with the memory-efficient kernel, the only fused one of PyTorch's for f32

TFLOP/s count every score, with the mask half of them. Both sides are timed one after the other, the peer before and after Facet, and the better of the peer's two medians counts.
"""
import math
import sys
from typing import NamedTuple

import needs

needs.modules("torch")

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import common
from events import median_ms

LENGTHS = [(32, 512), (8, 2048), (2, 8192), (1, 16384)]  # with their batches


class Row(NamedTuple):
    batch: int
    heads: int
    length: int
    head_dim: int
    dtype: str = "bf16"
    is_causal: bool = False
    group: int = 1  # query heads to a key head

    def flops(self):
        return 4 * self.batch * self.heads * self.length**2 * self.head_dim / (2 if self.is_causal else 1)


ROWS = {"bf16": [Row(b, h, n, d) for d, h in ((64, 32), (128, 16), (256, 8)) for b, n in LENGTHS],
        "causal": [Row(b, h, n, d, is_causal=True) for d, h in ((64, 32), (128, 16), (256, 8)) for b, n in LENGTHS] +
                  [Row(2, 32, 8192, 128, is_causal=True, group=4), Row(64, 16, 1024, 64, is_causal=True)],
        "f32": [Row(16, 16, 1024, 64, "f32"), Row(2, 16, 4096, 128, "f32")]}
# By dtype: the backend that the ratio is taken of first.
BACKENDS = {"bf16": {"fa2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION},
            "f32": {"memory-efficient": SDPBackend.EFFICIENT_ATTENTION}}
TORCH_TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def rotate(batch, heads, n, d, dtype="bf16", group=1):
    """A function that gives another (q, k, v) at each call, together larger than 200 MB; `group` query heads to a key head."""
    size = (1 + 2 / group) * batch * heads * n * d * TORCH_TYPES[dtype].itemsize
    sets = [[torch.randn(batch, of, n, d, device="cuda", dtype=TORCH_TYPES[dtype]) for of in (heads, heads // group, heads // group)]
            for _ in range(max(1, math.ceil(200e6 / size)))]
    state = {"next": 0}

    def take():
        state["next"] += 1
        return sets[state["next"] % len(sets)]

    return take


def facet(path, spec, shape, dtype, *extra):
    """One line of `facet bench`, or what it said where it failed: the other rows are still worth having."""
    try:
        return common.facet_bench(path, spec, shape, dtype, *extra)["results"][0]
    except RuntimeError as error:
        return {"error": str(error)}


def versions():
    return {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version()}


def measure(path, row):
    take = rotate(row.batch, row.heads, row.length, row.head_dim, row.dtype, row.group)

    def sdpa(backend):
        def run():
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(*take(), is_causal=row.is_causal, enable_gqa=row.group > 1)
        return run

    backends = BACKENDS[row.dtype]
    times = {name: median_ms(sdpa(backend)) for name, backend in backends.items()}
    mine = facet(path, "causal" if row.is_causal else "full", (row.batch, row.heads, row.length, row.head_dim), row.dtype,
                 "--kv-heads", str(row.heads // row.group))
    first = next(iter(backends))
    times[first] = min(times[first], median_ms(sdpa(backends[first])))
    speed = {name: row.flops() / ms / 1e9 for name, ms in times.items()}
    result = {**row._asdict(), "tflops": speed, "facet": mine}
    heads = str(row.heads) + (f"/{row.heads // row.group}" if row.group > 1 else "")
    what = f"{row.dtype:<4} {'causal' if row.is_causal else 'dense':<6} B{row.batch:<2} H{heads:<4} N{row.length:<6} D{row.head_dim:<4}"
    if "error" in mine:
        print(f"{what} facet failed: {mine['error']}", flush=True)
        return result
    result["ratio"] = times[first] / mine["time_ms"]["median"]
    peers = "  ".join(f"{name} {of_peer:6.1f}" for name, of_peer in speed.items())
    own = row.flops() / mine["time_ms"]["median"] / 1e9
    print(f"{what} {peers}  facet {own:6.1f} TFLOP/s  {result['ratio']:.2f}x {first}   {mine['plan']}", flush=True)
    return result


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), help="[all]")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    results = []
    for rows in options.rows:
        for row in ROWS[rows]:
            results.append(measure(options.facet, row))
            torch.cuda.empty_cache()
    common.save(options, {**versions(), "rows": results})
    return 0 if all("error" not in result["facet"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
