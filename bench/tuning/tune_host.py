#!/usr/bin/env python3
"""How good the plans are that `facet tune` finds on the host: beside the compiler's own choice and the best of all legal plans.

    bench/tuning/tune_host.py --facet build/release/facet --json results.json [--threads 1] [--rounds 16] [--searches 5]

Each case is tuned twice, with stores of their own: as a user would, and with --exhaustive. Then the default plan, the tuned one
and the three that the exhaustive search found fastest are timed in turns, a process each, and a plan's time is its fastest run:
what else runs on the machine delays some runs and not all. The best plan is the fastest of these. `spearman` is the rank
correlation of the cost model's order with the exhaustive search's times, `of_top_3` the time of the best of the model's first three
over that of the fastest, both by the median of several such searches: two runs of one plan may differ by more than two plans do.
Cases are kept to AVX2 by FA_CPU where they say so.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import common

CASES = (  # spec, dtype, head_dim, heads, length, level, more arguments
    ("full", "f32", 64, 2, 1024, None, ()),
    ("full", "bf16", 64, 2, 1024, None, ()),
    ("causal", "bf16", 128, 2, 1024, None, ()),
    ("sliding_window", "f32", 64, 2, 2048, None, ("--set", "window=256")),
    ("softcap", "bf16", 64, 4, 512, None, ()),
    ("causal", "f32", 64, 2, 1024, "avx2", ()),
)


def fastest_runs(facet, spec, arguments, environment, plans, rounds):
    """By plan: the milliseconds of its fastest run, and the report of the last one."""
    best, report = dict.fromkeys(plans, float("inf")), None
    for turn in range(rounds):
        for plan in plans if turn % 2 == 0 else reversed(plans):
            with tempfile.NamedTemporaryFile(suffix=".json") as out:
                done = subprocess.run([facet, "bench", os.path.join(common.SPECS, spec + ".fa"), *arguments, "--plan", plan,
                                       "--time", "150", "--json", out.name], capture_output=True, text=True, env=environment)
                if done.returncode != 0:
                    raise SystemExit(f"facet bench {spec} --plan '{plan}'\n{(done.stdout + done.stderr).strip()[-600:]}")
                report = json.load(open(out.name, encoding="utf-8"))
            best[plan] = min(best[plan], report["results"][0]["time_ms"]["best"])
    return best, report


def ratio_of(search, plan):
    """A plan's time over the default's, as one exhaustive search found it."""
    return next(timing["ratio"] for timing in search["timings"] if timing["plan"] == plan)


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--searches", type=int, default=5)
    numbers = range(1, len(CASES) + 1)
    parser.add_argument("--case", type=int, nargs="+", choices=numbers, default=numbers, help="time only these of the cases, counted from 1")
    options = parser.parse_args()
    rows, report = [], None
    for spec, dtype, head_dim, heads, length, level, extra in (CASES[number - 1] for number in options.case):
        environment = {**os.environ, **common.LEVELS.get(level, {})}
        arguments = ["--device", "host", "--threads", str(options.threads), "--dtype", dtype, "--head-dim", str(head_dim),
                     "--heads", str(heads), "--q-len", str(length), *extra]
        tuned = common.facet_tune(options.facet, spec, arguments, environment)
        searches = [common.facet_tune(options.facet, spec, arguments, environment, "--exhaustive") for _ in range(options.searches)]
        every = searches[0]
        ratios = {timing["plan"]: statistics.median(ratio_of(search, timing["plan"]) for search in searches)
                  for timing in every["timings"]}  # in the model's order
        ranked = sorted(ratios, key=ratios.get)
        plans = list(dict.fromkeys([tuned["default_plan"], tuned["plan"], every["plan"], *ranked[:3]]))
        best, report = fastest_runs(options.facet, spec, arguments, environment, plans, options.rounds)
        winner = min(best, key=best.get)
        row = {"spec": spec, "dtype": dtype, "head_dim": head_dim, "heads": heads, "length": length, "cpu_level": level,
               "default": tuned["default_plan"], "tuned": tuned["plan"], "best": winner, "ms": best, "timed": tuned["timed"],
               "legal": every["of"], "spearman": common.spearman(list(range(len(ratios))), list(ratios.values())),
               "of_top_3": min(list(ratios.values())[:3]) / ratios[ranked[0]], "tune_seconds": tuned["seconds"], "exhaustive_seconds": every["seconds"]}
        rows.append(row)
        print(f"{spec:15} {dtype:4} d{head_dim} N{length} {level or ''}: default {best[row['default']]:.3f}, tuned {best[row['tuned']]:.3f}, "
              f"best {best[winner]:.3f} ms ({winner}); {row['timed']} of {row['legal']} timed in {row['tune_seconds']:.1f} s; "
              f"Spearman {row['spearman']:.2f}, the model's first three {row['of_top_3']:.3f}", flush=True)
    common.save(options, {"cpu": common.cpu_name(), "versions": report["versions"] | {"llvm": tuned["compiler"].removeprefix("LLVM ")}, "threads": options.threads, "rows": rows})


if __name__ == "__main__":
    main()
