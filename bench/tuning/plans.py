#!/usr/bin/env python3
"""Times tile_q x tile_kv of one spec on this machine, beside the compiler's own choice: Br x Bc, as a heat map has them.

    bench/tuning/plans.py --facet build/release/facet --json results.json [--spec full] [--device host] [--shape 1,8,2048,64] [--dtype f32] [--plan sm80]

Of each tile_q that a plan may have, every tile_kv (`facet bench --sweep`); the rest of a plan is the compiler's, or what --plan says. On a
GPU these are plans of one family of kernels, the compiler's or --plan's.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import common


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--spec", default="full", help="a spec of specs/, or a file [full]")
    parser.add_argument("--device", choices=("host", "cuda"), default="host")
    parser.add_argument("--dtype", choices=("f32", "bf16", "f16"), default="f32")
    parser.add_argument("--shape", default="1,8,2048,64", help="batch,heads,length,head_dim [1,8,2048,64]")
    parser.add_argument("--plan", default="", help="what every plan has, as facet's --plan: sm80 []")
    arguments = parser.parse_args()
    shape = [int(number) for number in arguments.shape.split(",")]

    def bench(plan, *extra, milliseconds=400):
        forced = ["--plan", plan] if plan else []
        return common.facet_bench(arguments.facet, arguments.spec, shape, arguments.dtype, *forced, *extra, device=arguments.device,
                                  milliseconds=milliseconds, may_fail=bool(extra))

    default = bench(arguments.plan)
    chosen, origin = default["results"][0], {key: default[key] for key in ("device", "versions")}
    lines = []
    for tile_q in (line["sweep"]["value"] for line in bench(arguments.plan, "--sweep", "tile_q", milliseconds=1)["results"]):
        for line in bench(f"{arguments.plan} tile_q={tile_q}".strip(), "--sweep", "tile_kv")["results"]:
            if "error" in line:
                print(f"   failed     {line['plan']}: {line['error']}")
            else:
                lines.append(line)
        print(f"tile_q={tile_q}: {len(lines)} plans so far", flush=True)
        common.save(arguments, {**origin, "shape": shape, "dtype": arguments.dtype, "spec": arguments.spec, "default_plan": chosen["plan"],
                                "results": lines})
    time = lambda line: line["time_ms"]["median"]
    lines.sort(key=time)
    for line in lines[:10]:
        print(f"{time(line):9.3f} ms  {line['plan']}{'  (default)' if line['plan'] == chosen['plan'] else ''}")
    tile = re.search(r"tile_q=\d+ tile_kv=\d+", chosen["plan"])[0]
    print(f"{len(lines)} plans; the default, {tile}, takes {time(chosen) / time(lines[0]):.2f} times as long as the fastest")
    return 0


if __name__ == "__main__":
    sys.exit(main())
