#!/usr/bin/env python3
"""Asks the compiler for the plans that calls of few CTAs or few keys take on each GPU, by its model alone. Nothing runs: no GPU is needed.

    bench/buckets.py --facet build/release/facet --json results.json [--spec full] [--gpus t4 a100 h100] [--dims 64 128]

Tuned plans and those that ship are left out (FA_TUNE=never). A GPU without bf16 takes f16.
"""
import json
import os
import subprocess
import sys

import common

GPUS = ("t4", "a100", "l4", "rtx4090", "h100")


def explain(facet, spec, gpu, dtype, dim):
    """`facet explain --json` of a spec of specs/; raises SystemExit with its message where it fails."""
    done = subprocess.run([facet, "explain", os.path.join(common.SPECS, spec + ".fa"), "--gpu", gpu, "--dtype", dtype, "--head-dim", str(dim),
                           "--json"], capture_output=True, text=True, env={**os.environ, "FA_TUNE": "never"})
    if done.returncode != 0:
        raise SystemExit(f"facet explain {spec} --gpu {gpu}\n{done.stderr.strip()[-600:]}")
    return json.loads(done.stdout)


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--spec", default="full", help="a spec of specs/ [full]")
    parser.add_argument("--gpus", nargs="+", default=GPUS, help=f"[{' '.join(GPUS)}]")
    parser.add_argument("--dims", nargs="+", type=int, default=(64, 128, 256), help="head dims [64 128 256]")
    arguments = parser.parse_args()
    version = common.call_facet(arguments.facet, "--version").split()[1]
    rows = []
    for gpu in arguments.gpus:
        dtype = "f16" if gpu == "t4" else "bf16"
        for dim in arguments.dims:
            plans = explain(arguments.facet, arguments.spec, gpu, dtype, dim)["compile_takes"]["plans"]
            rows.append({"gpu": gpu, "dtype": dtype, "head_dim": dim, "plans": plans})
            print(f"{gpu} {dtype} d{dim}: {len(plans)} plan{'s' if len(plans) > 1 else ''}", flush=True)
            for plan in plans[:-1]:
                print(f"   {plan['calls']}: {plan['plan']}, {plan['single_ms'] / plan['predicted_ms']:.2f}x")
    common.save(arguments, {"versions": {"facet": version}, "spec": arguments.spec, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
