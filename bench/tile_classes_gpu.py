#!/usr/bin/env python3
"""What tile classes save and cost on one NVIDIA GPU: forward, bf16, head_dim 128, random normal inputs.

    bench/tile_classes_gpu.py --facet build/release/facet --json results.json

shares    time of masks at --length beside the dense kernel's times the share of tiles that are not empty, B2 H16
growth    the butterfly layout at three lengths: time and tiles, each beside those of the length before, B1 H8
long      a window of 1024 over 2^20 positions, B1 H2: time, and the memory of it all
cost      a mask that is true everywhere, which only its class can tell, beside no mask, B1 H4: what finding classes costs

Each figure is the median over --rounds of the medians of single processes, which take turns.
"""
import json
import os
import statistics
import sys
import tempfile

import common

DIM = 128
SHARES = {"sliding_window": ("--set", "window=1024"), "causal": (), "prefix_lm": (), "document": (), "block_sparse": (),
          "butterfly": (), "neighbourhood_2d": (), "bigbird": (), "t5_bias": (), "dilated": ("--set", "window=4096")}
TRUE_EVERYWHERE = """attention classified
head_dim 128
param w : i32 = 100000000
mask_mod = q_idx - kv_idx < w
"""


class Bench:
    """Runs `facet`, and keeps every result for the record."""

    def __init__(self, facet):
        self.facet, self.results, self.device = facet, [], {}

    def time(self, spec, shape, *extra):
        report = common.facet_bench(self.facet, spec, shape, "bf16", *extra, milliseconds=150)
        self.device = {"device": report.get("device"), "versions": report.get("versions")}
        self.results.append(report["results"][0])
        return report["results"][0]["time_ms"]["median"]

    def in_turns(self, rounds, calls):
        """Median of each of `calls` (spec, shape, extra...), which run one after the other, `rounds` times."""
        times = [[self.time(*call) for call in calls] for _ in range(rounds)]
        return [statistics.median(of_call) for of_call in zip(*times)]

    def tiles(self, spec, shape, *extra):
        """How many tiles of one head are empty, partial and full; where heads differ, of all of them."""
        batch, heads, n, d = shape
        report = common.call_facet(self.facet, "explain", os.path.join(common.SPECS, spec + ".fa"), "--tiles", "--batch",
                                   str(batch), "--heads", str(heads), "--q-len", str(n), "--kv-len", str(n), "--head-dim",
                                   str(d), "--dtype", "bf16", "--json", *extra)
        return json.loads(report)["tiles"]


def shares(bench, n, rounds):
    shape = (2, 16, n, DIM)
    dense, *times = bench.in_turns(rounds, [("full", shape), *((spec, shape, *extra) for spec, extra in SHARES.items())])
    print(f"full             {dense:8.3f} ms", flush=True)
    rows = []
    for (spec, extra), ms in zip(SHARES.items(), times):
        tiles = bench.tiles(spec, shape, *extra)
        share = 1 - tiles["empty"] / sum(tiles.values())
        rows.append({"spec": spec, "extra": extra, "tiles": tiles, "share": share, "ms": ms, "dense_ms": dense,
                     "of_share": ms / (dense * share)})
        print(f"{spec:16} {ms:8.3f} ms   {share:.3f} of the tiles   {rows[-1]['of_share']:.2f} of its share", flush=True)
    return rows


def growth(bench, rounds):
    rows = []
    for n in (1 << 14, 1 << 16, 1 << 18):
        shape = (1, 8, n, DIM)
        tiles = bench.tiles("butterfly", shape)
        row = {"length": n, "tiles": tiles["partial"] + tiles["full"], "ms": bench.in_turns(rounds, [("butterfly", shape)])[0]}
        if rows:
            row.update(tiles_grow=row["tiles"] / rows[-1]["tiles"], time_grows=row["ms"] / rows[-1]["ms"])
        rows.append(row)
        print(f"butterfly N{n:<7} {row['ms']:8.3f} ms   {row['tiles']} tiles" +
              (f"   tiles {row['tiles_grow']:.2f}x, time {row['time_grows']:.2f}x" if "tiles_grow" in row else ""), flush=True)
    return rows


def long(bench, rounds):
    ms = bench.in_turns(rounds, [("sliding_window", (1, 2, 1 << 20, DIM), "--set", "window=1024")])[0]
    allocated = bench.results[-1]["bytes"]
    print(f"window 1024 N{1 << 20} {ms:8.3f} ms   {allocated / 2**30:.2f} GiB allocated", flush=True)
    return {"ms": ms, "bytes": allocated}


def cost(bench, rounds):
    rows = []
    with tempfile.NamedTemporaryFile("w", suffix=".fa") as spec:
        spec.write(TRUE_EVERYWHERE)
        spec.flush()
        for n in (8192, 65536):
            shape = (1, 4, n, DIM)
            dense, classified = bench.in_turns(rounds, [("full", shape), (spec.name, shape)])
            rows.append({"length": n, "dense_ms": dense, "classified_ms": classified, "cost": classified / dense - 1})
            print(f"classes N{n:<7} {classified:.4f} ms against {dense:.4f}: {rows[-1]['cost']:.2%}", flush=True)
    return rows


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cost-rounds", type=int, default=9, help="rounds of `cost`, whose difference is small")
    parser.add_argument("--length", type=int, default=16384, help="of `shares`")
    parser.add_argument("--only", nargs="+", choices=("shares", "growth", "long", "cost"))
    options = parser.parse_args()
    bench = Bench(options.facet)
    parts = {"shares": lambda: shares(bench, options.length, options.rounds), "growth": lambda: growth(bench, options.rounds),
             "long": lambda: long(bench, options.rounds), "cost": lambda: cost(bench, options.cost_rounds)}
    try:
        found = {name: run() for name, run in parts.items() if not options.only or name in options.only}
    except RuntimeError as error:
        sys.exit(str(error))
    common.save(options, {**bench.device, **found, "results": bench.results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
