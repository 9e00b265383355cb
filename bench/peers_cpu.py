#!/usr/bin/env python3
"""Facet's host back end beside PyTorch on the same cores, in one run: forward, f32 or bf16, random normal inputs.

    bench/peers_cpu.py --facet build/release/facet --threads 2 --json results.json [--dtype bf16]

full                       scaled_dot_product_attention
softcap, alibi (causal)    FlexAttention, compiled; with its block mask, made beforehand, where there is a mask
causal, window 256         FlexAttention, compiled, and the block mask it needs at each new length: create_block_mask as it is,
                           and compiled, for lengths that it has been compiled for already. Facet has nothing to make
                           beforehand: its times hold all of its work
first call                 a new spec, from its text to its first result, against FlexAttention's first call

--cpu avx2 keeps both sides from newer instructions, as on a CPU that has none: FA_CPU here, ATEN_CPU_CAPABILITY and what its
libraries read there.

Both sides take turns, several rounds; each round is one process of `facet bench` between two timings of the peer. The
table gives medians over rounds (of the fastest runs, with --fastest) and the ratio of the medians (`of dense`: to Facet's own full row); the spread says how
quiet the machine was.
"""
import os
import statistics
import sys
import time

import needs

needs.modules("torch")

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

import common


def facet(arguments, spec, shape, *extra):
    """One line of `facet bench`, as its JSON gives it."""
    try:
        return common.facet_bench(arguments.facet, spec, shape, arguments.dtype, "--threads", str(arguments.threads), *extra,
                                  device="host", milliseconds=500)["results"][0]
    except RuntimeError as error:
        sys.exit(str(error))


class Row:
    """A spec with `extra` arguments for `facet bench`, beside a peer. `set_up`: by name, ways to make what the peer needs at
    a new length."""

    def __init__(self, name, spec, peer, run, extra=(), set_up=None):
        self.name, self.spec, self.peer, self.run, self.extra, self.set_up = name, spec, peer, run, extra, set_up or {}


def peers(shape, dtype, window=256):
    """The rows, and how long FlexAttention took from a new score_mod to its first result."""
    batch, heads, n, d = shape
    q, k, v = (torch.randn(batch, heads, n, d).to(dtype) for _ in range(3))
    slopes = torch.exp2(-8.0 * (torch.arange(heads) + 1) / heads)
    flex = torch.compile(flex_attention)
    compiled = torch.compile(create_block_mask)

    def causal(b, h, i, j):
        return i >= j

    def near(b, h, i, j):
        return (i >= j) & (i - j < window)

    def masked(name, spec, mask_mod, extra=()):
        def make(create, length=n):
            return create(mask_mod, None, None, length, length, device="cpu")

        for length in (n // 2, n * 3 // 4):  # from the second length on it is compiled for any
            make(compiled, length)
        block_mask = make(create_block_mask)
        return Row(name, spec, "flex", lambda: flex(q, k, v, block_mask=block_mask), extra,
                   {"eager": lambda: make(create_block_mask), "compiled": lambda: make(compiled)})

    causal_mask = create_block_mask(causal, None, None, n, n, device="cpu")
    rows = [
        Row("full", "full", "sdpa", lambda: scaled_dot_product_attention(q, k, v)),
        Row("softcap", "softcap", "flex", lambda: flex(q, k, v, score_mod=lambda s, b, h, i, j: 30 * torch.tanh(s / 30))),
        Row("alibi", "alibi", "flex",
            lambda: flex(q, k, v, score_mod=lambda s, b, h, i, j: s - slopes[h] * (i - j), block_mask=causal_mask)),
        masked("causal", "causal", causal),
        masked(f"window {window}", "sliding_window", near, ("--set", f"window={window}")),
    ]
    begin = time.perf_counter()
    rows[1].run()
    return rows, time.perf_counter() - begin


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--only", nargs="+", choices=("softcap", "alibi", "causal", "window"), help="rows to time, beside full")
    parser.add_argument("--cpu", choices=tuple(common.LEVELS), help="the newest vector instructions that either side may use [all]")
    parser.add_argument("--fastest", action="store_true",
                        help="count each side's fastest run of a turn, not the median: for a machine that others use, too")
    parser.add_argument("--shape", default="1,8,2048,64", help="batch,heads,length,head_dim [1,8,2048,64]")
    arguments = parser.parse_args()
    level = common.LEVELS.get(arguments.cpu, {})
    if any(os.environ.get(name) != value for name, value in level.items()):  # which libraries read as they are loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **level})
    shape = [int(number) for number in arguments.shape.split(",")]
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    torch.set_grad_enabled(False)
    todo, flex_first = peers(shape, {"f32": torch.float32, "bf16": torch.bfloat16}[arguments.dtype])

    summary, facet_summary = (min, "best") if arguments.fastest else (statistics.median, "median")
    batch, heads, n, d = shape
    flops = 4 * batch * heads * n * n * d
    rows = []
    print(f"B{batch} H{heads} N{n} D{d} {arguments.dtype}, {arguments.threads} threads, {arguments.rounds} rounds; "
          "ms, and GFLOP/s counting every score")
    if arguments.only:
        todo = [what for what in todo if what.name.split()[0] in ("full", *arguments.only)]
    for what in todo:
        theirs, mine, set_up = [common.time_ms(what.run, summary)], [], {name: [] for name in what.set_up}
        for _ in range(arguments.rounds):
            mine.append(facet(arguments, what.spec, shape, *what.extra)["time_ms"][facet_summary])
            theirs.append(common.time_ms(what.run, summary))
            for name, make in what.set_up.items():
                set_up[name].append(common.time_ms(make, summary))
        peer_ms, facet_ms = statistics.median(theirs), statistics.median(mine)
        dense_ms = statistics.median(rows[0]["facet_ms"]) if rows else facet_ms
        row = {"row": what.name, "spec": what.spec, "peer": what.peer, "peer_ms": theirs, "facet_ms": mine,
               "ratio": peer_ms / facet_ms, "of_dense": facet_ms / dense_ms, "peer_set_up_ms": set_up,
               "ratio_with_set_up": {name: (peer_ms + statistics.median(times)) / facet_ms
                                     for name, times in set_up.items()}}
        rows.append(row)
        print(f"{what.name:<10} {what.peer:<5} {peer_ms:7.1f} ({min(theirs):.1f} .. {max(theirs):.1f})   "
              f"facet {facet_ms:7.1f} ({min(mine):.1f} .. {max(mine):.1f})   {row['ratio']:.2f}x   "
              f"{row['of_dense']:.2f} of dense   {flops / facet_ms / 1e6:.0f} GFLOP/s", flush=True)
        for name, times in set_up.items():
            print(f"{'':<10} block mask, {name}: {statistics.median(times):.1f} ms ({min(times):.1f} .. {max(times):.1f}); "
                  f"with it {row['ratio_with_set_up'][name]:.2f}x", flush=True)
    cold = facet(arguments, "softcap", shape, "--no-cache")
    first = cold["compile_ms"] + cold["time_ms"][facet_summary]
    print(f"first call of a new spec: flex {flex_first:.1f} s, facet {first / 1000:.3f} s "
          f"(compile {cold['compile_ms']:.0f} ms)")
    common.save(arguments, {"cpu": common.cpu_name(), "cpu_level": arguments.cpu, "torch": torch.__version__, "shape": shape, "dtype": arguments.dtype, "threads": arguments.threads,
                            "rows": rows, "flex_first_s": flex_first, "facet_first_ms": first,
                            "facet_compile_ms": cold["compile_ms"]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
