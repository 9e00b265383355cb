#!/usr/bin/env python3
"""Facet's kernels for Hopper beside its kernels for sm_80, both on one Hopper GPU in one run: forward, bf16, B2, 16 heads at d128.

    bench/sm90_beside_sm80.py --facet build/release/facet --json results.json [--head-dim 64 128 256] [--length 8192] [--only NAME ...]

Every spec of specs/ (or those of --only) with its own tables, by the plan that the compiler likes best of each family; a family
that has no plan for a spec is left out. Heads are 2048 / head_dim, so that every head_dim has the same work.
"""
import common

FAMILIES = ("sm80", "sm90")


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--head-dim", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--length", type=int, nargs="+", default=[8192])
    parser.add_argument("--only", nargs="+", choices=common.spec_names(), help="names of specs")
    arguments = parser.parse_args()
    rows, report = [], None
    for length in arguments.length:
        for head_dim in arguments.head_dim:
            for name in common.spec_names(arguments.only):
                row = {"spec": name, "length": length, "head_dim": head_dim}
                for family in FAMILIES:
                    report = common.facet_bench(arguments.facet, name, (2, 2048 // head_dim, length, head_dim), "bf16",
                                                "--every-score", "--plan", family)
                    result = report["results"][0]
                    row |= {f"{family}_ms": result["time_ms"]["median"], f"{family}_plan": result["plan"]}
                rows.append(row)
                print(f"{name:22} d{head_dim:<4} N{length:<6} sm80 {row['sm80_ms']:8.4f} ms   sm90 {row['sm90_ms']:8.4f} ms   "
                      f"{row['sm80_ms'] / row['sm90_ms']:.2f}", flush=True)
    if report is None:
        parser.error("no spec is left to measure")
    common.save(arguments, {"device": report["device"], "versions": report["versions"], "dtype": "bf16", "rows": rows})


if __name__ == "__main__":
    main()
