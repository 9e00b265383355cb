#!/usr/bin/env python3
"""What finding tile classes costs where a pass fills a tile map before the kernel, on one NVIDIA GPU.

    ninja -C build/release tile_map_cost
    bench/tile_map_cost.py --facet build/release/facet --json results.json [--length 8192] [--only NAME ...]

Forward, bf16, B2 H16 D128, each spec with its own example tables. Two measurements:
- in a stream, by the program tile_map_cost (bench/tile_map_cost.cpp, --program): calls one after the other, with the pass that
  fills the map and without it. The difference is what a call pays.
- alone, by ncu: the median time of either kernel over --launches, one kernel at a time, with an empty L2 cache. Clocks are left
  alone. Needs Nsight Compute.
"""
import csv
import json
import os
import pathlib
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


def in_stream(program, file, length):
    """What tile_map_cost measured: microseconds of a call {"forward_us": without its map's pass, "with_map_us": with it, "in_turn_us":
    with it, but nothing overlapped, "added_us": the median difference that the pass makes}."""
    return json.loads(common.call_facet(program, str(length), file))


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--program", help="the program tile_map_cost [beside --facet]")
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=list(files()), help="names of masks")
    arguments = parser.parse_args()
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    program = arguments.program or str(pathlib.Path(shutil.which(arguments.facet) or arguments.facet).with_name("tile_map_cost"))
    for tool, remedy in ((ncu, "install Nsight Compute"), (program, "ninja -C build/release tile_map_cost, or --program")):
        if shutil.which(tool) is None:
            parser.error(f"{tool} is missing: {remedy}")
    report = common.facet_bench(arguments.facet, "full", (1, 1, 1024, 128), "bf16", milliseconds=1)
    rows = []
    for name, file in files().items():
        if arguments.only and name not in arguments.only:
            continue
        times = microseconds(ncu, arguments.facet, file, arguments.length, arguments.launches)
        row = {"mask": name, **times}
        rows.append(row)
        if "map_us" in times:
            row["stream"] = in_stream(program, file, arguments.length)
            cost = row["stream"]["added_us"]
            print(f"{name:18} in a stream {cost:5.1f} of {row['stream']['forward_us']:7.1f} us, {cost / row['stream']['forward_us']:6.2%}; "
                  f"alone {times['map_us']:5.1f} and {times['forward_us']:7.1f} us", flush=True)
        else:
            print(f"{name:18} no map", flush=True)
        common.save(arguments, {"device": report["device"], "versions": report["versions"], "shape": [2, 16, arguments.length, 128],
                                "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
