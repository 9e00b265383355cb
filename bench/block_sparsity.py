#!/usr/bin/env python3
"""Time of block-sparse attention over the density of its layout, beside dense attention: forward, specs/block_sparse.fa.

    bench/block_sparsity.py --facet build/release/facet --json results.json [--length 8192] [--head-dim 128] [--batch 2] [--heads 16]
                            [--dtype bf16] [--device cuda]

A layout keeps so many of every sixteen blocks of 128 keys, spread over a row and other ones in each row and head; of all of them one
kernel runs, since the layout is data. The length is a multiple of 2048, so that every row keeps the same share.
"""
import pathlib
import re
import tempfile

import common

BLOCK, OF = 128, 16
KEPT = (1, 2, 3, 4, 6, 8, 12, 16)
EXAMPLE = f"= (i0 + 5 * i1 + 7 * i2) % {OF} < kept"  # 5 and 7 have no factor in common with OF: a row meets every remainder


def with_density(text):
    """The spec with a param that says how many of every sixteen blocks its layout keeps."""
    changed, count = re.subn(r"^(tensor layout : [^\n]*\n\s*)=[^\n]*", rf"param kept : i32 = {OF}\n\1{EXAMPLE}", text, flags=re.MULTILINE)
    if count != 1:
        raise SystemExit("specs/block_sparse.fa has no line `tensor layout` followed by its example")
    return changed


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--dtype", choices=("f32", "bf16", "f16"), default="bf16")
    parser.add_argument("--device", choices=("host", "cuda"), default="cuda")
    arguments = parser.parse_args()
    if arguments.length % (BLOCK * OF) != 0:
        parser.error(f"--length {arguments.length} is no multiple of {BLOCK * OF}")
    shape = (arguments.batch, arguments.heads, arguments.length, arguments.head_dim)
    batch, heads, length, head_dim = shape
    dense_flops = 4 * batch * heads * length**2 * head_dim
    rows = []

    def measure(spec, *extra):
        report = common.facet_bench(arguments.facet, spec, shape, arguments.dtype, *extra, device=arguments.device, milliseconds=150)
        result = report["results"][0]
        density = result["flops"] / dense_flops
        rows.append({"spec": result["spec"], "density": density, "plan": result["plan"], "ms": result["time_ms"]["median"],
                     "tflops": result["tflops"]})
        print(f"{result['spec']:14} {density:7.4f} {rows[-1]['ms']:9.3f} ms  {rows[-1]['tflops']:7.3f} TFLOP/s of the scores kept", flush=True)
        common.save(arguments, {"device": report["device"], "versions": report["versions"], "dtype": arguments.dtype, "shape": shape,
                                "rows": rows})

    with tempfile.TemporaryDirectory() as folder:
        spec = pathlib.Path(folder) / "block_sparse.fa"
        spec.write_text(with_density((pathlib.Path(common.SPECS) / "block_sparse.fa").read_text(encoding="utf-8")), encoding="utf-8")
        measure("full")
        for kept in KEPT:
            measure(str(spec), "--set", f"kept={kept}")


if __name__ == "__main__":
    main()
