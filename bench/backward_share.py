#!/usr/bin/env python3
"""The backward pass of every spec beside that of dense attention times the share of tiles that the spec's mask leaves, and what
`deterministic` costs: on one GPU in one run, bf16, B2, 16 heads at d128.

    bench/backward_share.py --facet build/release/facet --json results.json [--head-dim 64 128] [--length 8192] [--only NAME ...]

The share counts tiles of the size that the walk over keys has: explain's share_of_tiles for a plan of that size.
"""
import json
import os
import re

import common


def explain(facet, name, shape, *extra):
    """What `facet explain` says as JSON of a spec of specs/, for shape (batch, heads, length, head_dim)."""
    batch, heads, n, d = shape
    said = common.call_facet(facet, "explain", os.path.join(common.SPECS, name + ".fa"), "--backward", "--batch", str(batch), "--heads",
                             str(heads), "--q-len", str(n), "--head-dim", str(d), "--dtype", "bf16", "--json", *extra)
    return json.loads(said)


def share_of_tiles(facet, name, shape):
    """The backward plan, and which share of the tiles of its walk over keys is not empty."""
    plan = explain(facet, name, shape)["backward"]["plan"]
    tile_q, tile_kv = re.search(r"keys\(tile_q=(\d+) tile_kv=(\d+)", plan).groups()
    tiles = explain(facet, name, shape, "--plan", f"sm80 tile_q={tile_q} tile_kv={tile_kv}")
    return plan, tiles["share_of_tiles"]


def backward_ms(facet, name, shape, *extra):
    report = common.facet_bench(facet, name, shape, "bf16", "--every-score", "--backward", *extra)
    return report, report["results"][0]["backward"]["time_ms"]["median"]


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--head-dim", type=int, nargs="+", default=[128])
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--only", nargs="+", choices=common.spec_names(), help="names of specs; full is timed in any case")
    arguments = parser.parse_args()
    rows, report = [], None
    for head_dim in arguments.head_dim:
        shape = (2, 2048 // head_dim, arguments.length, head_dim)
        dense = None
        for name in ["full", *(name for name in common.spec_names(arguments.only) if name != "full")]:
            report, plain = backward_ms(arguments.facet, name, shape)
            _, deterministic = backward_ms(arguments.facet, name, shape, "--deterministic")
            dense = dense or plain
            plan, share = share_of_tiles(arguments.facet, name, shape)
            rows.append({"spec": name, "head_dim": head_dim, "length": arguments.length, "plan": plan, "share_of_tiles": share,
                         "backward_ms": plain, "deterministic_ms": deterministic, "dense_ms": dense})
            print(f"{name:22} d{head_dim:<4} {plain:8.3f} ms, {plain / (dense * share):5.2f} of dense x {share:.3f}; "
                  f"deterministic {deterministic:8.3f} ms, {deterministic / plain:.2f}", flush=True)
            common.save(arguments, {"device": report["device"], "versions": report["versions"], "dtype": "bf16", "rows": rows})


if __name__ == "__main__":
    main()
