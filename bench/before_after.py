#!/usr/bin/env python3
"""Forward kernels of two builds of Facet in turns on one GPU: every spec, dtype, head_dim and family of kernels.

    bench/before_after.py --facet build/release/facet --before OLD/facet [--specs-before FOLDER] --json results.json
                          [--gpu a100 t4] [--dtype bf16 f16 f32] [--head-dim 64 128 256] [--only NAME ...] [--rounds N] [--budget SECONDS]

B2, 2048 / head_dim heads, N4096, in f32 N2048. A configuration is a GPU's kernels, a dtype and a head_dim: each build times all
specs in one process, in the order before, after, after, before, N times; a spec's time is the fastest of its medians. What both
builds compile is compiled first, by all cores. --budget ends the run before a configuration that would begin later.
"""
import concurrent.futures
import itertools
import json
import math
import os
import tempfile
import time

import common

LIMIT = 1.02  # a ratio of after to before that is printed by name


def bench(facet, folder, specs, config, length, milliseconds, cache):
    """{spec: its row of `facet bench`} and the report, of all specs in one process."""
    gpu, dtype, head_dim = config
    command = ["env", f"FA_CACHE_DIR={cache}", facet, "bench", *(os.path.join(folder, name + ".fa") for name in specs), "--device", "cuda",
               "--batch", "2", "--heads", str(2048 // head_dim), "--q-len", str(length), "--head-dim", str(head_dim), "--dtype", dtype,
               "--every-score", "--time", str(milliseconds)]
    if gpu != "own":
        command += ["--gpu", gpu]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        common.call_facet(*command, "--json", out.name)
        report = json.load(open(out.name, encoding="utf-8"))
    return {row["spec"]: row for row in report["results"]}, report


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def measure(sides, specs, config, rounds):
    """A row for each spec: the fastest medians of either side, their plans; and a report of the newer build."""
    length = 2048 if config[1] == "f32" else 4096
    runs, report = {name: [] for name in sides}, None
    for name in ("before", "after", "after", "before") * rounds:
        rows, of_run = bench(*sides[name][:2], specs, config, length, 40, sides[name][2])
        runs[name].append(rows)
        if name == "after":
            report = of_run
    rows = []
    for spec in specs:
        row = {"spec": spec, "gpu": config[0], "dtype": config[1], "head_dim": config[2], "length": length}
        for name in sides:
            row[f"{name}_ms"] = min(run[spec]["time_ms"]["median"] for run in runs[name])
            row[f"{name}_plan"] = runs[name][0][spec]["plan"]
        rows.append(row)
    return rows, report


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--before", required=True, help="the facet command of the older build")
    parser.add_argument("--specs-before", default=common.SPECS, help="the folder of specs as the older build reads them")
    parser.add_argument("--gpu", nargs="+", default=["own"], help="whose kernels: own (this GPU's), a100, t4, ...")
    parser.add_argument("--dtype", nargs="+", default=["bf16", "f16", "f32"])
    parser.add_argument("--head-dim", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--only", nargs="+", choices=common.spec_names(), help="names of specs")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds")
    arguments = parser.parse_args()
    begun = time.monotonic()
    before = common.call_facet(arguments.before, "--version").splitlines()[0]
    specs = [name for name in common.spec_names(arguments.only) if os.path.exists(os.path.join(arguments.specs_before, name + ".fa"))]
    configs = [config for config in itertools.product(arguments.gpu, arguments.dtype, arguments.head_dim)
               if config[:2] != ("t4", "bf16")]  # a T4 has no bf16
    with tempfile.TemporaryDirectory() as caches:
        sides = {"before": (arguments.before, arguments.specs_before, os.path.join(caches, "before")),
                 "after": (arguments.facet, common.SPECS, os.path.join(caches, "after"))}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda task: bench(*task[0][:2], specs, task[1], 128, 1, task[0][2]), itertools.product(sides.values(), configs)))
        print(f"compiled in {time.monotonic() - begun:.0f} s", flush=True)
        rows = []
        for config in configs:
            if time.monotonic() - begun > arguments.budget:
                print("the budget ends before", *config)
                break
            measured, report = measure(sides, specs, config, arguments.rounds)
            rows += measured
            ratios = {row["spec"]: row["after_ms"] / row["before_ms"] for row in measured}
            above = ", ".join(f"{spec} {ratio:.3f}" for spec, ratio in ratios.items() if ratio > LIMIT)
            print(f"{config[0]:6} {config[1]:5} d{config[2]:<4} geometric mean {geometric_mean(ratios.values()):.3f}, at most "
                  f"{max(ratios.values()):.3f}" + (f"; above {LIMIT}: {above}" if above else ""), flush=True)
            common.save(arguments, {"device": report["device"], "versions": report["versions"], "before": before, "rows": rows})
    ratios = [row["after_ms"] / row["before_ms"] for row in rows]
    if ratios:
        print(f"all {len(ratios)}: geometric mean {geometric_mean(ratios):.3f}, {sum(ratio > LIMIT for ratio in ratios)} above {LIMIT}")


if __name__ == "__main__":
    main()
