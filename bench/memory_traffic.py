#!/usr/bin/env python3
"""Bytes that attention moves to and from memory on one NVIDIA GPU, as ncu counts them: Facet's fused kernels, standard attention
and FlashAttention's algorithm 1, over lengths, and over tile_kv; beside what `facet bench` counts, and the time.

    bench/memory_traffic.py --facet build/release/facet --json results.json [--length 1024 4096 16384] [--head-dim 64]
                            [--batch 1] [--heads 16] [--tile-kv 16 32 64 128 256]

Dense attention, forward, bf16. Launches take turns on copies of the tensors that the L2 cache does not hold, and ncu leaves the
caches alone, so that what one pass leaves in the L2 for the next counts as it does in use. Bytes are the median of five calls. The
last rows are of the longest length, one for each width of --tile-kv that the implementation takes (`facet bench --sweep`). Needs Nsight
Compute.
"""
import csv
import os
import shutil
import statistics
import subprocess

import common

CALLS = 5
PASSES = {"facet": ("facet_forward",), "standard": ("facet_scores", "facet_softmax", "facet_outputs"),
          "flash1": ("facet_tiles", "facet_outputs")}
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum")
UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def measured_bytes(ncu, facet, impl, shape, plan):
    """Bytes read and written by one call: the median over CALLS of the sum of its passes."""
    passes = PASSES[impl]
    batch, heads, length, head_dim = shape
    bench = [facet, "bench", os.path.join(common.SPECS, "full.fa"), "--impl", impl, "--batch", str(batch), "--heads", str(heads), "--q-len",
             str(length), "--head-dim", str(head_dim), "--dtype", "bf16", "--plan", plan, "--device", "cuda", "--time", "1"]
    profiled = [ncu, "--csv", "--page", "raw", "--clock-control", "none", "--cache-control", "none", "--metrics", ",".join(METRICS),
                "-k", "regex:^(" + "|".join(passes) + ")$", "-s", str(2 * len(passes)), "-c", str(CALLS * len(passes)), *bench]
    done = subprocess.run(profiled, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    if len(rows) < 1 + len(passes):
        raise RuntimeError(f"{' '.join(profiled)}\nno launch was profiled:\n{(done.stdout + done.stderr).strip()[-600:]}")
    units, launches = rows[0], rows[1:]
    of = [sum(float(row[name].replace(",", "")) * UNITS[units[name]] for name in METRICS) for row in launches]
    names = [row["Kernel Name"] for row in launches]
    calls = [sum(of[i:i + len(passes)]) for i in range(0, len(of) - len(passes) + 1, len(passes))
             if tuple(names[i:i + len(passes)]) == passes]
    return statistics.median(calls)


def row_of(ncu, facet, impl, shape, result, forced):
    batch, heads, length, head_dim = shape
    counted = result["counted_bytes"]
    row = {"impl": impl, "batch": batch, "heads": heads, "length": length, "head_dim": head_dim, "forced": forced, "plan": result["plan"],
           "ms": result["time_ms"]["median"], "tflops": result["tflops"],
           "measured_bytes": measured_bytes(ncu, facet, impl, shape, result["plan"]),
           "counted_bytes": counted.get("baseline", counted["hbm"]), "least_bytes": counted["least"],
           "formula_bytes": counted["standard_by_formula" if impl == "standard" else "fused_by_formula"]}
    print(f"{impl:9} N{length:<6} D{head_dim:<4} {forced:14} {row['ms']:9.3f} ms {row['measured_bytes'] / 1e9:8.3f} GB measured, "
          f"{row['counted_bytes'] / 1e9:8.3f} counted", flush=True)
    return row


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--length", type=int, nargs="+", default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--tile-kv", type=int, nargs="*", default=[16, 32, 64, 128, 256])
    arguments = parser.parse_args()
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    rows = []

    def measure(impl, length, *extra):
        """A row for each plan that `facet bench` times with so many options."""
        shape = (arguments.batch, arguments.heads, length, arguments.head_dim)
        report = common.facet_bench(arguments.facet, "full", shape, "bf16", "--every-score", "--impl", impl, *extra, milliseconds=50, may_fail=True)
        for result in report["results"]:
            forced = "{field}={value}".format(**result["sweep"]) if "sweep" in result else ""
            if "error" in result:
                print(f"{impl:9} N{length:<6} {forced}: {result['error']}", flush=True)
                continue
            rows.append(row_of(ncu, arguments.facet, impl, shape, result, forced))
            common.save(arguments, {"device": report["device"], "versions": report["versions"], "rows": rows})

    for length in arguments.length:
        for impl in PASSES:
            measure(impl, length)
    if arguments.tile_kv:
        for impl in PASSES:
            measure(impl, max(arguments.length), "--sweep", "tile_kv=" + ",".join(map(str, arguments.tile_kv)))


if __name__ == "__main__":
    main()
