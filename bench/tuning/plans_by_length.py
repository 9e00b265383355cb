#!/usr/bin/env python3
"""Forced plans over lengths on one NVIDIA GPU, beside what the cost model predicts: forward, bf16, 2048 / head_dim heads, 16k tokens in all.

    bench/tuning/plans_by_length.py --facet build/release/facet --gpu h200 --json results.json [--head-dim 64 128 256] [--only SPEC ...]

Every plan of PLANS is built and timed as it is, whichever the compiler would take; a plan that cannot run a spec is left out.
--gpu names the GPU at hand for `facet explain`, whose prediction counts the tiles that the spec's mask leaves.
"""
import concurrent.futures
import itertools
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import common

SHAPES = [(32, 512), (16, 1024), (8, 2048), (2, 8192)]  # batch, length
SPECS = ("full", "causal", "sliding_window")
PLANS = {64: ("sm90 tile_q=192 tile_kv=112", "sm90 tile_q=192 tile_kv=64", "sm90 tile_q=128 tile_kv=128", "sm90 tile_q=128 tile_kv=64",
              "sm80 tile_q=128 tile_kv=128", "sm80 tile_q=128 tile_kv=64", "sm80 tile_q=64 tile_kv=128"),
         128: ("sm90 tile_q=192 tile_kv=80", "sm90 tile_q=128 tile_kv=128", "sm90 tile_q=128 tile_kv=64", "sm80 tile_q=128 tile_kv=64",
               "sm80 tile_q=64 tile_kv=128"),
         256: ("sm90 tile_q=128 tile_kv=80", "sm90 tile_q=128 tile_kv=64", "sm80 tile_q=64 tile_kv=64")}


def predicted_ms(facet, gpu, spec, shape, plan):
    batch, heads, length, head_dim = shape
    said = json.loads(common.call_facet(facet, "explain", os.path.join(common.SPECS, spec + ".fa"), "--gpu", gpu, "--batch", str(batch),
                                        "--heads", str(heads), "--q-len", str(length), "--head-dim", str(head_dim), "--dtype", "bf16",
                                        "--plan", plan, "--json"))
    return said["predicted_ms"]


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--gpu", required=True, help="the GPU at hand, as facet explain knows it: h100, h200, ...")
    parser.add_argument("--head-dim", type=int, nargs="+", choices=list(PLANS), default=list(PLANS))
    parser.add_argument("--only", nargs="+", choices=common.spec_names(), default=SPECS, help="names of specs")
    arguments = parser.parse_args()
    cases = [(spec, (batch, 2048 // head_dim, length, head_dim), plan) for head_dim in arguments.head_dim
             for spec, (batch, length), plan in itertools.product(arguments.only, SHAPES, PLANS[head_dim])]
    runs = {}

    def build(case):  # by all cores, into the cache; a length costs no second compile
        try:
            common.facet_bench(arguments.facet, case[0], (1, 1, 64, case[1][3]), "bf16", "--plan", case[2], milliseconds=1)
            return True
        except RuntimeError as error:
            if "cannot run" not in str(error):
                raise
            return False

    kinds = sorted({(spec, head_dim, plan) for spec, (*_, head_dim), plan in cases})
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = dict(zip(kinds, pool.map(lambda kind: build((kind[0], (0, 0, 0, kind[1]), kind[2])), kinds)))
    rows = []
    for spec, shape, plan in cases:
        if not runs[spec, shape[3], plan]:
            continue
        report = common.facet_bench(arguments.facet, spec, shape, "bf16", "--every-score", "--plan", plan, milliseconds=30)
        result = report["results"][0]
        rows.append({"spec": spec, "batch": shape[0], "heads": shape[1], "length": shape[2], "head_dim": shape[3], "plan": result["plan"],
                     "ms": result["time_ms"]["median"], "predicted_ms": predicted_ms(arguments.facet, arguments.gpu, spec, shape, plan)})
        print(f"{spec:16} d{shape[3]:<4} N{shape[2]:<6} {plan:30} {rows[-1]['ms']:8.4f} ms, {rows[-1]['ms'] / rows[-1]['predicted_ms']:.2f} "
              "of the prediction", flush=True)
        common.save(arguments, {"device": report["device"], "versions": report["versions"], "dtype": "bf16", "rows": rows})


if __name__ == "__main__":
    main()
