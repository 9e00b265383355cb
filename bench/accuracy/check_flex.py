#!/usr/bin/env python3
"""Checks that bench/flex/further.py means the same as the specs of bench/variants/: each variant's functions, evaluated by PyTorch
on the CPU over all indices, against Facet's host kernel on the same q, k, v and tables, in f32.

    bench/accuracy/check_flex.py --facet build/release/facet [--length 1536] [--only NAME ...]
"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import needs

needs.modules("numpy", "torch")

import numpy
import torch

import common
from flex import further
from flex.variant import BATCH, HEADS

DIM = 32
TOLERANCE = 2e-4  # sums of f32 over a row, and functions of another library


def attention(variant, q, k, v):
    n = q.shape[2]
    b, h, i, j = (torch.arange(size, dtype=torch.int64).view(shape) for size, shape in (
        (BATCH, (-1, 1, 1, 1)), (HEADS, (1, -1, 1, 1)), (n, (1, 1, -1, 1)), (n, (1, 1, 1, -1))))
    score = q @ k.transpose(2, 3) * (variant.scale or DIM**-0.5)
    if variant.score_mod is not None:
        score = variant.score_mod(score, b, h, i, j)
    if variant.mask_mod is not None:
        score = torch.where(variant.mask_mod(b, h, i, j), score, -torch.inf)
    return torch.nan_to_num(torch.softmax(score, dim=-1)) @ v  # a row that keeps no key is 0


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--length", type=int, default=1536)
    parser.add_argument("--only", nargs="+", help="names of variants")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    n = arguments.length
    variants, tables = further.variants_and_tables(n, "cpu")
    q, k, v = (torch.randn(BATCH, HEADS, n, DIM) for _ in range(3))
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        def written(name, tensor):
            path = os.path.join(folder, name + ".npy")
            numpy.save(path, (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy())
            return path

        inputs = [argument for name, tensor in (("q", q), ("k", k), ("v", v))
                  for argument in (f"--{name}", written(name, tensor))]
        out = os.path.join(folder, "o.npy")
        for name, variant in variants.items():
            if arguments.only and name not in arguments.only:
                continue
            of_variant = [argument for table, tensor in tables.get(name, {}).items()
                          for argument in ("--tensor", f"{table}={written(table, tensor)}")]
            common.call_facet(arguments.facet, "run", variant.spec, "--device", "host", "--dtype", "f32", "--head-dim", str(DIM),
                              *inputs, *of_variant, *variant.extra, "--out", out, "--repeat", "1")
            error = float((torch.from_numpy(numpy.load(out)) - attention(variant, q, k, v)).abs().max())
            if not error <= TOLERANCE:
                failed.append(name)
            print(f"{name:18} largest difference {error:.1e}{'' if error <= TOLERANCE else '   FAILED'}", flush=True)
    print(f"{len(failed)} differ: {' '.join(failed)}" if failed else "all mean the same")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
