#!/usr/bin/env python3
"""Times every legal plan of one spec on this machine, beside the compiler's own choice: Br x Bc, as a heat map has them.

    bench/plans.py --facet build/release/facet --json results.json [--spec full] [--device host] [--shape 1,8,2048,64] [--dtype f32]
"""
import re
import sys

import common


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--spec", default="full", help="a spec of specs/, or a file [full]")
    parser.add_argument("--device", choices=("host", "cuda"), default="host")
    parser.add_argument("--dtype", choices=("f32", "bf16", "f16"), default="f32")
    parser.add_argument("--shape", default="1,8,2048,64", help="batch,heads,length,head_dim [1,8,2048,64]")
    arguments = parser.parse_args()
    shape = [int(number) for number in arguments.shape.split(",")]
    bench = lambda *extra: common.facet_bench(arguments.facet, arguments.spec, shape, arguments.dtype, *extra,
                                              device=arguments.device, milliseconds=400)
    default = bench()["results"][0]
    timed = bench("--plans", "all")
    lines = sorted((line for line in timed["results"] if "error" not in line), key=lambda line: line["time_ms"]["median"])
    for line in lines[:10]:
        print(f"{line['time_ms']['median']:9.3f} ms  {line['plan']}{'  (default)' if line['plan'] == default['plan'] else ''}")
    tile = lambda plan: re.search(r"tile_q=\d+ tile_kv=\d+", plan)[0]
    print(f"{len(lines)} plans; the default, {tile(default['plan'])}, takes {default['time_ms']['median'] / lines[0]['time_ms']['median']:.2f} "
          "times as long as the fastest")
    common.save(arguments, {"device": timed["device"], "versions": timed["versions"], "shape": shape, "dtype": arguments.dtype,
                            "spec": arguments.spec, "default_plan": default["plan"], "results": lines})
    return 0


if __name__ == "__main__":
    sys.exit(main())
