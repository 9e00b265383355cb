#!/usr/bin/env python3
"""The error of Facet's gradients on the host beside that of PyTorch eager's, each against fp64, on random cases from a seed.

    bench/accuracy/gradients_beside_eager.py --facet build/release/facet --json results.json [--cases 200] [--seed 1]

Needs the package facet for Python (python -m pip install .). Cases are those of error_beside_eager.py. The ratio of a case and of
each of q, k and v is

    max |g - g64| of Facet / max |g - g64| of eager        for the gradients of sum(o * d_o), d_o normal

where g64 is autograd's through attention in fp64 from the same stored tensors. Eager is the same attention through autograd, in
the dtype. The bar of 2 is for all dtypes; exits with 1 where a case is above it.
"""
import dataclasses
import math
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import needs

needs.modules("numpy", "torch", "facet")

import numpy
import torch

import common
import facet
import facet.torch
from error_beside_eager import BAR, Case, draw, hooks, inputs, share, tables

EXACT = torch.float64


def attention(case, q, k, v, captured):
    """o, in the type of q, with its roundings; rows without keys are 0, and so are their gradients."""
    group = case.heads // case.kv_heads
    index = lambda size, axis: torch.arange(size).view([-1 if i == axis else 1 for i in range(4)])
    b, h, rows, keys = (index(size, axis) for axis, size in enumerate((case.batch, case.heads, case.q_len, case.kv_len)))
    wide = EXACT if q.dtype == EXACT else torch.float32
    t = {name: torch.from_numpy(array) for name, array in captured.items()}
    t = {name: x.to(wide) if x.is_floating_point() else x for name, x in t.items()}
    score_mod, mask = hooks(case, t, b, h, rows, keys)
    scores = (q @ k.repeat_interleave(group, 1).mT) * (1.0 if case.spec == "t5_bias" else 1 / math.sqrt(case.head_dim))
    if score_mod is not None:
        scores = score_mod(scores)
    if mask is None:
        return torch.softmax(scores, -1).to(q.dtype) @ v.repeat_interleave(group, 1)
    kept = mask.any(-1, keepdim=True)
    prob = torch.softmax(torch.where(mask, scores, torch.where(kept, -math.inf, 0.0)), -1).to(q.dtype)
    return torch.where(kept, prob, 0) @ v.repeat_interleave(group, 1)


def gradients(run, arrays, d_o, dtype):
    leaves = [array.to(dtype).requires_grad_() for array in arrays]
    found = torch.autograd.grad(run(*leaves), leaves, d_o.to(dtype))
    return [gradient.double() for gradient in found]


def by_facet(case, captured):
    spec = facet.load(os.path.join(common.SPECS, case.spec + ".fa"))
    given = {name: torch.from_numpy(array) for name, array in captured.items()}
    if case.spec == "dilated":
        given["window"] = 256

    def run(q, k, v):
        if case.layout == "bshd":
            q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
        return facet.torch.attention(q, k, v, spec, **given)

    return run


def measure(case, seed):
    rng = numpy.random.default_rng([seed, case.number])
    captured = tables(case, rng)
    arrays = inputs(case, rng)
    d_o = torch.from_numpy(rng.standard_normal((case.batch, case.heads, case.q_len, case.head_dim_v))).to(arrays[0].dtype)
    eager_run = lambda q, k, v: attention(case, q, k, v, captured)
    exact = gradients(eager_run, arrays, d_o, EXACT)
    eager = gradients(eager_run, arrays, d_o, arrays[0].dtype)
    mine = gradients(by_facet(case, captured), arrays, d_o, arrays[0].dtype)
    worst = lambda found, i: float((found[i] - exact[i]).abs().max()) if not found[i].isnan().any() else math.inf
    square = lambda found, i: float((found[i] - exact[i]).square().mean().sqrt())
    result = {**dataclasses.asdict(case), "gradients": {}}
    for i, name in enumerate("qkv"):
        result["gradients"][name] = {"facet": worst(mine, i), "eager": worst(eager, i),
                                     "ratio": share(worst(mine, i), worst(eager, i)),
                                     "rms_ratio": share(square(mine, i), square(eager, i))}
    return result


def show(rows):
    print(f"{'dtype':5} {'of':2} {'cases':>5} {'median':>7} {'worst':>7} {'rms median':>10} {'rms worst':>9}   "
          "of Facet's error / eager's")
    for dtype in sorted({row["dtype"] for row in rows}):
        for name in "qkv":
            of = [row["gradients"][name] for row in rows if row["dtype"] == dtype]
            ratios, rms = [one["ratio"] for one in of], [one["rms_ratio"] for one in of]
            print(f"{dtype:5} {name:2} {len(of):5} {statistics.median(ratios):7.3f} {max(ratios):7.3f} "
                  f"{statistics.median(rms):10.3f} {max(rms):9.3f}")
    above = [(row, name) for row in rows for name in "qkv" if row["gradients"][name]["ratio"] > BAR]
    print(f"above {BAR}: {len(above)} of {3 * len(rows)} gradients")
    for row, name in above:
        one = row["gradients"][name]
        print(f"  {one['ratio']:7.3f} of {name}: facet {one['facet']:.3e} eager {one['eager']:.3e}  "
              f"{Case(**{field.name: row[field.name] for field in dataclasses.fields(Case)}).line()}")
    return above


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=int, default=512, help="the longest q_len and kv_len drawn")
    parser.add_argument("--only", type=int, nargs="*", help="run these numbers only")
    arguments = parser.parse_args()
    os.environ.setdefault("FA_CACHE_DIR", tempfile.mkdtemp())
    rows = []
    for number in arguments.only or range(arguments.cases):
        rows.append(measure(draw(number, arguments.seed, ("host",), arguments.longest), arguments.seed))
        if sys.stderr.isatty():
            print(f"\r{len(rows)} of {arguments.cases} cases", end="", file=sys.stderr)
    above = show(rows)
    common.save(arguments, {"device": "host", "torch": torch.__version__, "seed": arguments.seed,
                            "facet": common.call_facet(arguments.facet, "--version").strip(), "cases": rows})
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
