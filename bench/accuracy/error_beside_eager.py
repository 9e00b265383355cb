#!/usr/bin/env python3
"""Facet's error beside that of PyTorch eager, each against fp64, on random cases drawn from a seed.

    bench/accuracy/error_beside_eager.py --facet build/release/facet --json results.json [--cases 300] [--seed 1] [--device host]

A case is a spec of specs/, a shape (odd lengths, grouped heads, head_dim_v apart), a layout, a dtype, inputs (normal, with
outliers, with large logits) and a path: the GPU's own kernels, those of a T4 on the same GPU, or the host. Its ratio is

    max |o - o64| of Facet / max |o - o64| of eager        over every row that the mask does not leave empty

where o64 is attention in fp64 from the same stored q, k, v. Eager is what one writes without a fused kernel: q @ k^T, scale and
hook in the dtype (a table of f32 makes the scores f32, as PyTorch's promotion does), softmax in that type, cast, @ v. f32 cases
stand beside eager f32 without TF32. The bar of 2 is for the 16-bit cases; exits with 1 where one is above it.
"""
import concurrent.futures
import dataclasses
import math
import os
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import needs

needs.modules("numpy", "torch")

import numpy
import torch

import common

DIMS = (16, 24, 40, 64, 64, 80, 96, 128, 128, 128, 160, 192, 256)
BAR = 2.0


@dataclasses.dataclass
class Case:
    number: int
    spec: str
    path: str
    dtype: str
    layout: str
    inputs: str
    batch: int
    heads: int
    kv_heads: int
    q_len: int
    kv_len: int
    head_dim: int
    head_dim_v: int

    def line(self):
        return (f"{self.number:4} {self.spec:21} {self.path:6} {self.dtype:5} {self.layout} {self.inputs:9} B{self.batch} "
                f"H{self.heads}/{self.kv_heads} N{self.q_len}x{self.kv_len} D{self.head_dim}/{self.head_dim_v}")


def tables(case, rng):
    """The captured tensors of every spec, by name."""
    heads, q_len, kv_len = case.heads, case.q_len, case.kv_len
    f32 = lambda array: numpy.ascontiguousarray(array, numpy.float32)
    blocks = (heads, -(-q_len // 128), -(-kv_len // 128))
    parents = ((numpy.arange(q_len)[:, None] + 1) >> numpy.arange(12)[None, :]) - 1
    return {
        "alibi": {"slopes": f32(rng.uniform(0.001, 0.7, heads))},
        "sliding_window_alibi": {"slopes": f32(rng.uniform(0.001, 0.7, heads))},
        "block_sparse": {"layout": rng.random(blocks) < 0.4},
        "document": {"document_id": numpy.sort(rng.integers(0, 9, (case.batch, kv_len)), 1).astype(numpy.int32)},
        "prefix_lm": {"prefix_len": rng.integers(1, kv_len + 1, case.batch).astype(numpy.int32)},
        "relative_bias": {"table": f32(rng.standard_normal((heads, 257)))},
        "sigmoid_gate": {"sharpness": f32(rng.uniform(0.5, 2, heads))},
        "t5_bias": {"bias": f32(rng.standard_normal((32, heads)))},
        "tree": {"ancestors": parents.astype(numpy.int32)},
        "kerple": {"r1": f32(rng.uniform(0.1, 2, heads)), "r2": f32(rng.uniform(0.05, 1, heads))},
    }.get(case.spec, {})


def hooks(case, t, b, h, q, k):
    """(score_mod or None, mask or None) of a spec, over index tensors that broadcast to [batch, heads, q_len, kv_len]."""
    pos = q + (case.kv_len - case.q_len)
    distance = pos - k
    xor = lambda: (q // 128) ^ (k // 128)
    bucket = lambda: torch.where(distance < 16, distance.clamp(min=0), 16 + (torch.log(distance.clamp(min=1).double() / 16)
                                 / math.log(8) * 16).int()).clamp(0, 31)
    return {
        "full": lambda: (None, None),
        "causal": lambda: (None, distance >= 0),
        "sliding_window": lambda: (None, (distance >= 0) & (distance < 1024)),
        "sliding_window_alibi": lambda: (lambda s: s - t["slopes"][h] * distance, (distance >= 0) & (distance < 1024)),
        "alibi": lambda: (lambda s: s - t["slopes"][h] * distance, distance >= 0),
        "softcap": lambda: (lambda s: 30 * torch.tanh(s / 30), None),
        "relative_bias": lambda: (lambda s: s + t["table"][h, (k - q).clamp(-128, 128) + 128], None),
        "sigmoid_gate": lambda: (lambda s: s * torch.sigmoid(t["sharpness"][h] * s), None),
        "t5_bias": lambda: (lambda s: s + t["bias"][bucket(), h], distance >= 0),
        "kerple": lambda: (lambda s: s - t["r1"][h] * torch.log1p(t["r2"][h] * distance.clamp(min=0)), distance >= 0),
        "document": lambda: (None, (t["document_id"][b, pos.clamp(min=0)] == t["document_id"][b, k]) & (distance >= 0)),
        "prefix_lm": lambda: (None, (k < t["prefix_len"][b]) | (distance >= 0)),
        "block_sparse": lambda: (None, t["layout"][h, q // 128, k // 128]),
        "dilated": lambda: (None, (distance >= 0) & (distance < 1024) & (distance % 4 == 0)),
        "global_window": lambda: (None, (distance.abs() <= 256) | (k < 16) | (pos < 16)),
        "neighbourhood_2d": lambda: (None, ((q // 32 - k // 32).abs() <= 3) & ((q % 32 - k % 32).abs() <= 3)),
        "butterfly": lambda: (None, (xor() & (xor() - 1)) == 0),
        "tree": lambda: (None, tree(case, t["ancestors"], q, k)),
    }[case.spec]()


SPEC_NAMES = ("full", "causal", "sliding_window", "sliding_window_alibi", "alibi", "softcap", "relative_bias", "sigmoid_gate",
              "t5_bias", "kerple", "document", "prefix_lm", "block_sparse", "dilated", "global_window", "neighbourhood_2d",
              "butterfly", "tree")


def tree(case, ancestors, q, k):
    token = k - (case.kv_len - case.q_len)
    is_ancestor = torch.zeros(case.q_len, case.kv_len, dtype=torch.bool, device=q.device)
    for depth in range(ancestors.shape[1]):
        is_ancestor |= ancestors[:, depth][:, None] == token[0, 0]
    return (token < 0) | is_ancestor


def draw(number, seed, paths, longest):
    """The case of a number, which does not depend on the cases before it."""
    choose = random.Random(f"{seed} {number}")
    length = lambda: choose.randint(1, 64) if choose.random() < 0.15 else int(2 ** choose.uniform(6, math.log2(longest)))
    q_len = length()
    head_dim = choose.choice(DIMS)
    kv_heads = choose.choice((1, 2, 3))
    path = choose.choice(paths)
    return Case(number=number, spec=choose.choice(SPEC_NAMES), path=path,
                dtype=choose.choice(("f16", "f16", "f16", "f32") if path == "t4" else ("f16", "f16", "bf16", "bf16", "f32")),
                layout=choose.choice(("bhsd", "bshd")), inputs=choose.choice(("normal", "normal", "outliers", "large")),
                batch=choose.choice((1, 2, 3)), heads=kv_heads * choose.choice((1, 2, 4)), kv_heads=kv_heads, q_len=q_len,
                kv_len=q_len if choose.random() < 0.4 else length(), head_dim=head_dim,
                head_dim_v=head_dim if choose.random() < 0.7 else choose.choice(DIMS))


def inputs(case, rng):
    """q, k, v as f32 arrays that the dtype holds exactly."""
    shapes = ((case.batch, case.heads, case.q_len, case.head_dim), (case.batch, case.kv_heads, case.kv_len, case.head_dim),
              (case.batch, case.kv_heads, case.kv_len, case.head_dim_v))
    q, k, v = (rng.standard_normal(shape, numpy.float32) for shape in shapes)
    if case.inputs == "large":  # logits of standard deviation 4: rows that few keys decide
        q, k = q * 2, k * 2
    if case.inputs == "outliers":  # a channel in a hundred ten times as large, as in trained models
        for array in (q, k, v):
            array[..., rng.random(array.shape[-1]) < 0.01 + 1 / array.shape[-1]] *= 10
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[case.dtype]
    return [torch.from_numpy(numpy.ascontiguousarray(array, numpy.float32)).to(dtype) for array in (q, k, v)]


def facet(command, case, arrays, captured, device):
    """o by `facet run`, as f64; raises RuntimeError with its words where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        file = lambda name: os.path.join(folder, name + ".npy")
        call = [command, "run", os.path.join(common.SPECS, case.spec + ".fa"), "--device", device, "--dtype", case.dtype, "--head-dim",
                str(case.head_dim), "--head-dim-v", str(case.head_dim_v), "--layout", case.layout, "--repeat", "1", "--out",
                file("o")]
        if case.path == "t4":
            call += ["--gpu", "t4"]
        for name, array in zip("qkv", arrays):
            numpy.save(file(name), (array if array.dtype == torch.float16 else array.float()).numpy())
            call += ["--" + name, file(name)]
        for name, array in captured.items():
            numpy.save(file(name), array)
            call += ["--tensor", f"{name}={file(name)}"]
        if case.spec == "dilated":
            call += ["--set", "window=256"]
        try:
            common.call_facet(*call)
        except RuntimeError as error:
            raise RuntimeError(f"{case.line()}: {error}") from None
        return torch.from_numpy(numpy.load(file("o")).astype(numpy.float64))


def attention(case, arrays, captured, place, dtype):
    """(o as f64, rows that keep a key), computed in `dtype` on `place`, with the roundings of that type where eager has them."""
    q, k, v = (array.to(place, dtype) for array in arrays)
    group = case.heads // case.kv_heads
    index = lambda size, axis: torch.arange(size, device=place).view([-1 if i == axis else 1 for i in range(4)])
    b, h = index(case.batch, 0), index(case.heads, 1)
    rows, keys = index(case.q_len, 2), index(case.kv_len, 3)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    t = {name: torch.from_numpy(array).to(place) for name, array in captured.items()}
    t = {name: x.to(wide) if x.is_floating_point() else x for name, x in t.items()}
    score_mod, mask = hooks(case, t, b, h, rows, keys)
    scale = 1.0 if case.spec == "t5_bias" else 1 / math.sqrt(case.head_dim)
    scores = (q @ k.repeat_interleave(group, 1).mT) * scale
    if score_mod is not None:
        scores = score_mod(scores)
    kept = torch.ones(1, 1, case.q_len, 1, dtype=torch.bool, device=place)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
        kept = mask.any(-1, keepdim=True)
    prob = torch.softmax(scores, -1).to(dtype)
    o = prob @ v.repeat_interleave(group, 1)
    return torch.where(kept, o, 0).double().cpu(), kept.cpu()


def measure(case, command, device, place, seed):
    rng = numpy.random.default_rng([seed, case.number])
    captured = tables(case, rng)
    arrays = inputs(case, rng)
    mine = facet(command, case, arrays, captured, device)
    exact, _ = attention(case, arrays, captured, place, torch.float64)
    eager, _ = attention(case, arrays, captured, place, arrays[0].dtype)
    worst = lambda o: float((o - exact).abs().max()) if not o.isnan().any() else math.inf
    square = lambda o: float((o - exact).square().mean().sqrt())
    of_facet, of_eager = worst(mine), worst(eager)
    return {**dataclasses.asdict(case), "facet": of_facet, "eager": of_eager, "ratio": share(of_facet, of_eager),
            "rms_ratio": share(square(mine), square(eager))}


def share(mine, eager):
    """0 where both are exact."""
    return mine / eager if eager > 0 else 0.0 if mine == 0 else math.inf


def show(rows):
    print(f"{'path':6} {'dtype':5} {'cases':>5} {'median':>7} {'worst':>7} {'rms median':>10} {'rms worst':>9}   of Facet's error / eager's")
    for path, dtype in sorted({(row["path"], row["dtype"]) for row in rows}):
        some = [row for row in rows if (row["path"], row["dtype"]) == (path, dtype)]
        ratios, rms = [row["ratio"] for row in some], [row["rms_ratio"] for row in some]
        print(f"{path:6} {dtype:5} {len(some):5} {statistics.median(ratios):7.3f} {max(ratios):7.3f} "
              f"{statistics.median(rms):10.3f} {max(rms):9.3f}")
    above = [row for row in rows if row["ratio"] > BAR]
    print(f"above {BAR}: {len(above)} of {len(rows)} cases")
    for row in above:
        print(f"  {row['ratio']:7.3f} facet {row['facet']:.3e} eager {row['eager']:.3e}  "
              f"{Case(**{field.name: row[field.name] for field in dataclasses.fields(Case)}).line()}")
    return [row for row in above if row["dtype"] != "f32"]


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", choices=("cuda", "host"), default="cuda")
    parser.add_argument("--longest", type=int, default=2048, help="the longest q_len and kv_len drawn")
    parser.add_argument("--jobs", type=int, default=8, help="cases at once")
    parser.add_argument("--only", type=int, nargs="*", help="run these numbers only")
    arguments = parser.parse_args()
    place = "cuda" if arguments.device == "cuda" else "cpu"
    paths = ("native", "native", "t4") if place == "cuda" else ("host",)
    torch.backends.cuda.matmul.allow_tf32 = False
    cases = [draw(number, arguments.seed, paths, arguments.longest) for number in arguments.only or range(arguments.cases)]
    os.environ.setdefault("FA_CACHE_DIR", tempfile.mkdtemp())
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda case: measure(case, arguments.facet, arguments.device, place, arguments.seed), cases))
    above = show(rows)
    name = torch.cuda.get_device_name() if place == "cuda" else "host"
    common.save(arguments, {"device": name, "torch": torch.__version__, "cuda": torch.version.cuda,
                            "facet": common.call_facet(arguments.facet, "--version").strip(), "seed": arguments.seed,
                            "cases": rows})
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
