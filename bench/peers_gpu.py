#!/usr/bin/env python3
"""Facet beside PyTorch's attention on one NVIDIA GPU, in one run: forward, bf16, random normal inputs.

    bench/peers_gpu.py --facet build/release/facet --json results.json

scaled_dot_product_attention with FlashAttention-2 (and cuDNN), against specs/full.fa, over head_dim and length

Both sides are timed one after the other, the peer before and after Facet, and the better of the peer's two medians counts.
"""
import argparse
import datetime
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

SPECS = os.path.relpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "specs"))
DENSE = [(b, h, n, d) for d, h in ((64, 32), (128, 16), (256, 8)) for b, n in ((8, 2048), (2, 8192), (1, 16384))]


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


def rotate(batch, heads, n, d):
    """A function that gives another (q, k, v) at each call, together larger than 200 MB."""
    size = 3 * batch * heads * n * d * 2
    sets = [[torch.randn(batch, heads, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
            for _ in range(max(1, math.ceil(200e6 / size)))]
    state = {"next": 0}

    def take():
        state["next"] += 1
        return sets[state["next"] % len(sets)]

    return take


def facet(path, spec, batch, heads, n, d, extra=()):
    """One line of `facet bench`, as its JSON gives it."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [path, "bench", os.path.join(SPECS, spec + ".fa"), "--device", "cuda", "--batch", str(batch), "--heads",
                   str(heads), "--q-len", str(n), "--head-dim", str(d), "--dtype", "bf16", "--time", "250", "--json",
                   out.name, *extra]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return {"error": (done.stdout + done.stderr).strip()[-400:]}
        return json.load(open(out.name))["results"][0]


def dense(path):
    rows = []
    for batch, heads, n, d in DENSE:
        flops = 4 * batch * heads * n * n * d
        take = rotate(batch, heads, n, d)

        def sdpa(backend):
            def run():
                with sdpa_kernel(backend):
                    return scaled_dot_product_attention(*take())
            return run

        fa2 = [median_ms(sdpa(SDPBackend.FLASH_ATTENTION))]
        cudnn = median_ms(sdpa(SDPBackend.CUDNN_ATTENTION))
        mine = facet(path, "full", batch, heads, n, d)
        fa2.append(median_ms(sdpa(SDPBackend.FLASH_ATTENTION)))
        row = {"shape": [batch, heads, n, d], "fa2_tflops": flops / min(fa2) / 1e9,
               "cudnn_tflops": flops / cudnn / 1e9, "facet": mine}
        rows.append(row)
        if "error" in mine:
            print(f"B{batch} H{heads} N{n} D{d}: facet failed: {mine['error']}")
            continue
        row["ratio"] = mine["tflops"] / row["fa2_tflops"]
        print(f"B{batch} H{heads} N{n:<6} D{d:<4} fa2 {row['fa2_tflops']:6.0f}  cudnn {row['cudnn_tflops']:6.0f}  "
              f"facet {mine['tflops']:6.0f} TFLOP/s  {row['ratio']:.2f}x fa2   {mine['plan']}", flush=True)
        torch.cuda.empty_cache()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facet", required=True, help="the facet command")
    parser.add_argument("--json", help="write the results here")
    parser.add_argument("--commit", default="", help="the commit the command was built from, for the record")
    arguments = parser.parse_args()
    rows = dense(arguments.facet)
    if arguments.json:
        report = {"command": " ".join(sys.argv), "date": datetime.datetime.now(datetime.timezone.utc).isoformat(),
                  "commit": arguments.commit, "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                  "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "dense": rows}
        with open(arguments.json, "w") as out:
            json.dump(report, out, indent=1)
    return 0 if all("error" not in row["facet"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
