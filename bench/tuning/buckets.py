#!/usr/bin/env python3
"""Asks the compiler for the plans that calls of few CTAs or few keys take on each GPU, by its model alone. Nothing runs: no GPU is needed.

    bench/tuning/buckets.py --facet build/release/facet --json results.json [--spec full] [--gpus t4 a100 h100] [--dims 64 128]

Tuned plans and those that ship are left out (FA_TUNE=never). A GPU without bf16 takes f16.
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import common

GPUS = ("t4", "a100", "l4", "rtx4090", "h100")


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--spec", default="full", help="a spec of specs/ [full]")
    parser.add_argument("--gpus", nargs="+", default=GPUS, help=f"[{' '.join(GPUS)}]")
    parser.add_argument("--dims", nargs="+", type=int, default=(64, 128, 256), help="head dims [64 128 256]")
    arguments = parser.parse_args()
    version = common.call_facet(arguments.facet, "--version").split()[1]
    os.environ["FA_TUNE"] = "never"
    file, rows = os.path.join(common.SPECS, arguments.spec + ".fa"), []
    for gpu in arguments.gpus:
        dtype = "f16" if gpu == "t4" else "bf16"
        for dim in arguments.dims:
            explained = common.call_facet(arguments.facet, "explain", file, "--gpu", gpu, "--dtype", dtype, "--head-dim", str(dim), "--json")
            plans = json.loads(explained)["compile_takes"]["plans"]
            rows.append({"gpu": gpu, "dtype": dtype, "head_dim": dim, "plans": plans})
            print(f"{gpu} {dtype} d{dim}: {len(plans)} plan{'s' if len(plans) > 1 else ''}", flush=True)
            for plan in plans[:-1]:
                print(f"   {plan['calls']}: {plan['plan']}, {plan['single_ms'] / plan['predicted_ms']:.2f}x")
    common.save(arguments, {"versions": {"facet": version}, "spec": arguments.spec, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
