#!/usr/bin/env python3
"""Time and memory of attention over lengths: Facet's fused kernels, standard attention and FlashAttention's algorithm 1, dense, forward.

    bench/time_and_memory.py --facet build/release/facet --json results.json [--length 512 ... 65536] [--head-dim 64] [--batch 1]
                             [--heads 16] [--dtype bf16] [--device cuda] [--impl facet standard flash1]

Memory is that of q, k, v, o and lse, once, and of the call's workspace. Where that does not fit the row says so.
"""
import common

IMPLS = ("facet", "standard", "flash1")


def row_of(shape, impl, result):
    batch, heads, length, head_dim = shape
    row = {"impl": impl, "batch": batch, "heads": heads, "length": length, "head_dim": head_dim}
    if "error" in result:
        return row | {"error": result["error"]}
    return row | {"plan": result["plan"], "ms": result["time_ms"]["median"], "tflops": result["tflops"], "tensor_bytes": result["bytes"],
                  "workspace_bytes": result["workspace_bytes"]}


def describe(row):
    if "error" in row:
        return row["error"]
    return f"{row['ms']:10.3f} ms {row['tensor_bytes'] / 1e9:9.3f} GB of tensors, {row['workspace_bytes'] / 1e9:9.3f} of workspace"


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--length", type=int, nargs="+", default=[1 << n for n in range(9, 17)])
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--dtype", choices=("f32", "bf16", "f16"), default="bf16")
    parser.add_argument("--device", choices=("host", "cuda"), default="cuda")
    parser.add_argument("--impl", nargs="+", choices=IMPLS, default=IMPLS, help="all three")
    arguments = parser.parse_args()
    rows, origin = [], {}
    for length in arguments.length:
        shape = (arguments.batch, arguments.heads, length, arguments.head_dim)
        for impl in arguments.impl:
            report = common.facet_bench(arguments.facet, "full", shape, arguments.dtype, "--every-score", "--impl", impl,
                                        device=arguments.device, milliseconds=50, may_fail=True)
            rows.append(row_of(shape, impl, report["results"][0]))
            print(f"{impl:9} N{length:<6} {describe(rows[-1])}", flush=True)
            if report["device"]:  # which a line that failed may not know
                origin = {"device": report["device"], "versions": report["versions"]}
            common.save(arguments, {**origin, "dtype": arguments.dtype, "rows": rows})


if __name__ == "__main__":
    main()
