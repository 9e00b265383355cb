#!/usr/bin/env python3
"""What finding tile classes costs where a pass fills a tile map before the kernel: both timed by ncu on one NVIDIA GPU.

    bench/tile_map_cost.py --facet build/release/facet --json results.json [--length 8192] [--only NAME ...]

Forward, bf16, B2 H16 D128, each spec with its own example tables, which neither kernel finds in the L2 cache (ncu empties it
before each launch). Every figure is the median over --launches; clocks are left alone. Needs Nsight Compute.
"""
import csv
import os
import shutil
import statistics
import subprocess
import sys

import common

FACET_KERNELS = {"facet_tile_map": "map_us", "facet_forward": "forward_us"}
SHIPPED = ("bigbird", "document", "neighbourhood_2d", "tree")
FURTHER = ("ancestors", "axial", "block_routing", "image_spans", "packed_offsets", "padding_left", "padding_right",
           "prefix_documents", "timestamps", "tree_words")


def files():
    """The spec file of each mask that may have a map, by name."""
    variants = os.path.join(os.path.dirname(common.SPECS), "bench", "variants")
    return {**{name: os.path.join(common.SPECS, name + ".fa") for name in SHIPPED},
            **{name: os.path.join(variants, name + ".fa") for name in FURTHER}}


def microseconds(ncu, facet, file, length, launches):
    """{"map_us", "forward_us"}: medians over the launches; no "map_us" where the mask needs no map."""
    bench = [facet, "bench", file, "--device", "cuda", "--batch", "2", "--heads", "16", "--head-dim", "128", "--dtype", "bf16",
             "--q-len", str(length), "--time", "20"]
    profiled = [ncu, "--csv", "--page", "raw", "--clock-control", "none", "--metrics", "gpu__time_duration.sum",
                "-c", str(2 * launches), *bench]
    done = subprocess.run(profiled, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    times = {name: [] for name in FACET_KERNELS.values()}
    for row in csv.DictReader(lines):
        name, time = row["Kernel Name"], row["gpu__time_duration.sum"]
        if not time or time == "ns" or name not in FACET_KERNELS:
            continue  # the row of units, kernels that fill tensors
        times[FACET_KERNELS[name]].append(float(time.replace(",", "")))
    if not times["forward_us"]:
        raise RuntimeError(f"{' '.join(profiled)}\nno launch was profiled:\n{(done.stdout + done.stderr).strip()[-600:]}")
    unit = {"ns": 1e-3, "us": 1.0, "ms": 1e3}[next(csv.DictReader(lines))["gpu__time_duration.sum"]]
    return {name: statistics.median(of) * unit for name, of in times.items() if of}


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=list(files()), help="names of masks")
    arguments = parser.parse_args()
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    rows = []
    for name, file in files().items():
        if arguments.only and name not in arguments.only:
            continue
        times = microseconds(ncu, arguments.facet, file, arguments.length, arguments.launches)
        rows.append({"mask": name, **times})
        share = f"{times['map_us']:7.1f} us, {100 * times['map_us'] / times['forward_us']:5.2f}%" if "map_us" in times else "no map"
        print(f"{name:18} forward {times['forward_us']:8.1f} us   map {share}", flush=True)
    report = common.facet_bench(arguments.facet, "full", (1, 1, 1024, 128), "bf16", milliseconds=1)
    common.save(arguments, {"device": report["device"], "versions": report["versions"], "shape": [2, 16, arguments.length, 128],
                            "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
