#!/usr/bin/env python3
"""How good the plans are that `facet tune` finds on one NVIDIA GPU, and how well the cost model orders plans before anything is timed.

    bench/tuning/tune_gpu.py --facet build/release/facet --json results.json [--only 1 5 ...] [--budget 120s]

Each case is tuned twice, by all kernels that the GPU runs or by one family's (FA_TARGET=h200:sm80), with stores of their own: as a user
would, and with --exhaustive, which times every legal plan. `of_best` is the tuned plan's time in the exhaustive search over that of
the plan that it found fastest, `gain` the default's over the tuned plan's, as the user's search found it. The model orders the
candidates: `spearman` is the rank correlation of that order with the exhaustive search's times, `of_top_3` the time of the best of
the model's first three over that of the fastest.
"""
import json
import math
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import common

CASES = (  # spec, dtype, head_dim, batch, heads, length, family of kernels (None: all that the GPU runs)
    ("full", "bf16", 128, 2, 16, 8192, None),
    ("causal", "bf16", 64, 32, 16, 512, None),
    ("causal", "bf16", 128, 2, 16, 8192, None),
    ("sliding_window", "bf16", 64, 2, 32, 8192, None),
    ("document", "bf16", 128, 2, 16, 8192, None),
    ("softcap", "f16", 64, 1, 8, 4096, None),
    ("full", "f16", 256, 1, 8, 4096, None),
    ("full", "f32", 128, 1, 8, 4096, None),
    ("causal", "f32", 64, 4, 16, 1024, None),
    ("causal", "bf16", 128, 2, 16, 4096, "sm80"),
    ("sliding_window", "f16", 64, 2, 32, 4096, "sm80"),
    ("softcap", "bf16", 128, 32, 16, 512, "sm80"),
    ("document", "bf16", 64, 2, 32, 4096, "sm80"),
    ("causal", "f16", 64, 2, 16, 4096, "sm75"),
    ("full", "f16", 128, 32, 16, 512, "sm75"),
    ("sliding_window", "f16", 128, 2, 16, 4096, "sm75"),
)


def measure(options, case):
    spec, dtype, head_dim, batch, heads, length, family = case
    environment = {**os.environ, **({"FA_TARGET": f"{options.gpu}:{family}"} if family else {})}
    arguments = ["--device", "cuda", "--dtype", dtype, "--head-dim", str(head_dim), "--batch", str(batch), "--heads", str(heads),
                 "--q-len", str(length)]
    tuned = common.facet_tune(options.facet, spec, arguments, environment, "--budget", options.budget)
    every = common.facet_tune(options.facet, spec, arguments, environment, "--exhaustive", "--budget", options.budget)
    timings = [timing for timing in every["timings"] if not timing.get("failed")]  # in the model's order
    best = min(timings, key=lambda timing: timing["ratio"])
    of_best = next(timing["ratio"] for timing in timings if timing["plan"] == tuned["plan"]) / best["ratio"]
    row = {"spec": spec, "dtype": dtype, "head_dim": head_dim, "batch": batch, "heads": heads, "length": length, "family": family,
           "default": tuned["default_plan"], "tuned": tuned["plan"], "best": best["plan"], "ms": tuned["ms"], "gain": tuned["gain"],
           "of_best": of_best, "timed": tuned["timed"], "legal": every["of"], "failed": every["failed"],
           "is_whole": every["timed"] + every["failed"] >= every["of"], "tune_seconds": tuned["seconds"], "exhaustive_seconds": every["seconds"],
           "spearman": common.spearman(list(range(len(timings))), [timing["ratio"] for timing in timings]),
           "of_top_3": min(timing["ratio"] for timing in timings[:3]) / best["ratio"]}
    print(f"{spec:15} {dtype:4} d{head_dim:<3} B{batch} N{length:<5} {family or 'all':4}: tuned / best {of_best:.3f}, "
          f"default / tuned {row['gain']:.3f}, {row['timed']} of {row['legal']} timed in {row['tune_seconds']:.1f} s "
          f"(all{'' if row['is_whole'] else ', not to the end,'} {row['exhaustive_seconds']:.0f} s), Spearman {row['spearman']:.2f}, "
          f"the model's first three {row['of_top_3']:.3f}", flush=True)
    return row, timings


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--only", type=int, nargs="+", choices=range(1, len(CASES) + 1), metavar="N", help="numbers of cases, from 1")
    parser.add_argument("--budget", default="120s", help="most to spend on each search")
    parser.add_argument("--timings", help="write the exhaustive searches' times here: of each case all plans, in the model's order")
    options = parser.parse_args()
    report = common.facet_bench(options.facet, "full", (1, 1, 64, 64), "f16", milliseconds=1)
    options.gpu = report["device"].rpartition(" as ")[2]  # "NVIDIA H200, as h200"
    rows, timings = [], []

    def keep_timings():
        if options.timings:
            with open(options.timings, "w", encoding="utf-8") as out:
                json.dump(timings, out)

    keep_timings()  # a file that cannot be written is found before minutes of timing
    for number, case in enumerate(CASES, 1):
        if options.only and number not in options.only:
            continue
        row, of_case = measure(options, case)
        rows.append(row)
        timings.append({"case": case, "timings": of_case})
        keep_timings()
        common.save(options, {"device": report["device"], "versions": report["versions"], "rows": rows})
    gain = math.exp(sum(math.log(row["gain"]) for row in rows) / len(rows))
    print(f"{len(rows)} cases: default / tuned {gain:.3f} in the geometric mean, tuned within 2% of the best in "
          f"{sum(row['of_best'] <= 1.02 for row in rows)}, at most a quarter timed in "
          f"{sum(row['timed'] <= max(8, 0.25 * row['legal']) for row in rows)}, Spearman 0.8 or more in "
          f"{sum(row['spearman'] >= 0.8 for row in rows)}, a plan within 5% among the model's first three in "
          f"{sum(row['of_top_3'] <= 1.05 for row in rows)}")


if __name__ == "__main__":
    main()
