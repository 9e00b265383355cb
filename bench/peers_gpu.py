#!/usr/bin/env python3
"""Facet beside PyTorch's attention on one NVIDIA GPU, in one run: forward, random normal inputs, specs/full.fa against
scaled_dot_product_attention.

    bench/peers_gpu.py --facet build/release/facet --json results.json

bf16   with FlashAttention-2, which the ratio is taken of, and cuDNN; over head_dim and length
f32    with the memory-efficient kernel, the only fused one of PyTorch's for f32

Both sides are timed one after the other, the peer before and after Facet, and the better of the peer's two medians counts.
"""
import math
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import common

SHAPES = {"bf16": [(b, h, n, d) for d, h in ((64, 32), (128, 16), (256, 8)) for b, n in ((8, 2048), (2, 8192), (1, 16384))],
          "f32": [(16, 16, 1024, 64), (2, 16, 4096, 128)]}
# By dtype: the backend that the ratio is taken of first.
BACKENDS = {"bf16": {"fa2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION},
            "f32": {"memory-efficient": SDPBackend.EFFICIENT_ATTENTION}}
TORCH_TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def median_ms(run, seconds=0.25):
    """Median of single launches timed by events, after a warm-up; the inputs rotate so that no L2 holds them."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    times = []
    while len(times) < 10 or (sum(times) < seconds * 1000 and len(times) < 200):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def rotate(batch, heads, n, d, dtype="bf16"):
    """A function that gives another (q, k, v) at each call, together larger than 200 MB."""
    size = 3 * batch * heads * n * d * TORCH_TYPES[dtype].itemsize
    sets = [[torch.randn(batch, heads, n, d, device="cuda", dtype=TORCH_TYPES[dtype]) for _ in range(3)]
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


def dense(path, shape, dtype):
    batch, heads, n, d = shape
    flops = 4 * batch * heads * n * n * d
    take = rotate(*shape, dtype)

    def sdpa(backend):
        def run():
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(*take())
        return run

    times = {name: median_ms(sdpa(backend)) for name, backend in BACKENDS[dtype].items()}
    mine = facet(path, "full", shape, dtype)
    first = next(iter(BACKENDS[dtype]))
    times[first] = min(times[first], median_ms(sdpa(BACKENDS[dtype][first])))
    row = {"shape": shape, "dtype": dtype, "tflops": {name: flops / ms / 1e9 for name, ms in times.items()}, "facet": mine}
    what = f"{dtype:<4} B{batch:<2} H{heads} N{n:<6} D{d:<4}"
    if "error" in mine:
        print(f"{what} facet failed: {mine['error']}", flush=True)
        return row
    row["ratio"] = mine["tflops"] / row["tflops"][first]
    peers = "  ".join(f"{name} {speed:6.1f}" for name, speed in row["tflops"].items())
    print(f"{what} {peers}  facet {mine['tflops']:6.1f} TFLOP/s  {row['ratio']:.2f}x {first}   {mine['plan']}", flush=True)
    return row


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--dtype", nargs="+", choices=SHAPES, default=list(SHAPES), help="[both]")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = []
    for dtype in options.dtype:
        for shape in SHAPES[dtype]:
            rows.append(dense(options.facet, shape, dtype))
            torch.cuda.empty_cache()
    common.save(options, {**versions(), "dense": rows})
    return 0 if all("error" not in row["facet"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
