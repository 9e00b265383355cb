#!/usr/bin/env python3
"""Facet beside every attention that PyTorch has here, in one run: the same inputs, in turns, outputs (with --backward,
gradients) checked before anything is timed.

    bench/compare.py [--device cuda] [--rows dense causal f32 variants] [--only NAME ...] [--backward] [--cold] [--tune]
                     [--json results.json]

Sides: facet (facet.torch.flex_attention), also called with a spec and as its baseline standard, FlashAttention-2 and cuDNN by
scaled_dot_product_attention, its memory-efficient kernel in f32, FlashAttention-3 and -4 where they can be imported, FlexAttention
compiled (and with its FLASH back end; autotuned with --tune), and standard: PyTorch's operators, S and P in memory. FA_TARGET=a100
makes facet's the kernels of that older GPU.
A side that is wrong or fails is shown with its reason; that it does not take a problem, and why, is in the record.

Columns: ms of a forward pass; ms of the backward pass alone (--backward); mask, ms to make the block mask for a length, compiled and
warm; MB at the peak of a training step beyond its inputs (of a forward pass without --backward); us, what a forward call keeps the CPU;
s, of the first call in a new process without any cache (--cold). times: a side's forward ms over Facet's.

Programs are those of bench/flex/; --programs FILE adds a Python file with a function variants(n, device) that returns more, by name.
Needs the package facet (python -m pip install .).
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import needs

needs.modules("torch", "facet")

import torch
import torch._functorch.config

import common
from flex import further, shipped
from flex.variant import Variant
from sides import measure
from sides.libraries import SIDES, importable
from sides.problem import Problem

TABLES = ((64, 32), (128, 16), (256, 8))  # head_dim, heads
LENGTHS = {"cuda": ((32, 512), (8, 2048), (2, 8192), (1, 16384)), "cpu": ((1, 512), (1, 2048))}  # batch, length
CPU_HEADS = 4


def plain(name, dtype, arguments, head_dim, heads, batch, length):
    variant = Variant(name, mask_mod=shipped.causal if name == "causal" else None)
    heads = heads if arguments.device == "cuda" else CPU_HEADS
    return Problem(name, variant, batch, heads, heads, length, head_dim, dtype, arguments.device)


def programs(arguments, n):
    found = {**shipped.variants(n, arguments.device), **further.variants(n, arguments.device)}
    if arguments.programs:
        loaded = importlib.util.spec_from_file_location("programs", arguments.programs)
        module = importlib.util.module_from_spec(loaded)
        loaded.loader.exec_module(module)
        found.update(module.variants(n, arguments.device))
    return found


def problems(arguments):
    """The problems asked for, each made when it is reached: tables of a variant may be large."""
    dtype = "bf16" if arguments.device == "cuda" else "f32"
    for rows in arguments.rows:
        if rows == "variants":
            n = arguments.length or (8192 if arguments.device == "cuda" else 1024)
            for name, variant in programs(arguments, n).items():
                if (not arguments.only or name in arguments.only) and name not in ("full", "causal"):
                    batch, heads = further.BATCH, further.HEADS
                    yield Problem(name, variant, batch, heads, heads, n, 128 if arguments.device == "cuda" else 64, dtype, arguments.device)
        elif rows == "f32":
            for head_dim, heads, batch, length in ((64, 16, 16, 1024), (128, 16, 2, 4096)) if arguments.device == "cuda" else ():
                yield plain("full", "f32", arguments, head_dim, heads, batch, length)
        else:
            for head_dim, heads in TABLES:
                for batch, length in LENGTHS[arguments.device]:
                    if arguments.lengths and length not in arguments.lengths:
                        continue
                    yield plain("causal" if rows == "causal" else "full", dtype, arguments, head_dim, heads, batch, length)


def first_call_s(side, problem, with_backward):
    """Of a new process: seconds from a prepared problem to its first output, and gradients."""
    with tempfile.TemporaryDirectory() as empty:
        caches = {name: empty for name in ("FA_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")}
        command = [sys.executable, __file__, *sys.argv[1:], "--first-call", side.name, problem.line()]
        done = subprocess.run(command, env={**os.environ, **caches}, capture_output=True, text=True)
    return float(done.stdout.split()[-1]) if done.returncode == 0 and done.stdout else None


def print_first_call(arguments, side_name, line):
    side = next(side for side in SIDES if side.name == side_name)
    problem = next(problem for problem in problems(arguments) if problem.line() == line)
    tensors = [tensor.requires_grad_(arguments.backward) for tensor in problem.inputs()]
    learned = [tensor.requires_grad_(arguments.backward) for tensor in problem.variant.learned]
    torch.randn(8, device=problem.device).sum().item()  # starts the driver
    side.load()
    importlib.import_module("torch.fx.experimental.symbolic_shapes")  # as autograd.grad does, whoever computed the output
    begin = time.perf_counter()
    with side.within():
        output = side.prepare(problem)(*tensors)
    if arguments.backward and side.has_backward(problem):
        torch.autograd.grad(output, (*tensors, *learned), torch.ones_like(output))[0].sum().item()
    output.sum().item()
    print(time.perf_counter() - begin)


class Prepared:
    """A side that takes the problem and is right."""

    def __init__(self, side, problem, sets, with_backward):
        self.side, self.problem, self.sets = side, problem, sets
        self.forward = side.prepare(problem)
        with side.within():
            with torch.no_grad():
                wrong = problem.why_wrong(self.forward(*sets[0]), *sets[0])
            if not wrong and with_backward and side.has_backward(problem):
                wrong = problem.why_gradients_wrong(self.forward, *sets[0])
        if wrong:
            raise ValueError(wrong)

    def round(self, arguments):
        with self.side.within():
            return self._timed(arguments)

    def _timed(self, arguments):
        problem, found = self.problem, {}
        found["ms"] = measure.forward_ms(self.forward, self.sets, problem.device, arguments.seconds)
        if arguments.backward and self.side.has_backward(problem):
            found["backward_ms"] = measure.backward_ms(self.forward, self.sets, problem.variant.learned, problem.device, arguments.seconds)
        if problem.variant.mask_mod is not None and not problem.plain:
            found["mask_ms"] = measure.timed(lambda: self.side.prepare(problem), problem.device, arguments.seconds / 4)
        return found

    def once(self, arguments):
        problem, found = self.problem, {}
        if problem.device == "cuda":
            with_backward = arguments.backward and self.side.has_backward(problem)
            with self.side.within():
                found["peak_mb"] = measure.peak_bytes(self.forward, self.sets[0], problem.variant.learned, with_backward) / 1e6
        if arguments.cold:
            found["first_call_s"] = first_call_s(self.side, problem, arguments.backward)
        return found


def compare(arguments, problem):
    """The problem's row of the record."""
    row = {"problem": problem.line(), "sides": {}}
    for tensor in problem.variant.learned:
        tensor.requires_grad_(arguments.backward)
    sets, ready = problem.input_sets(), []
    for side in SIDES:
        if side.name not in arguments.sides if arguments.sides else side.is_slow and not arguments.tune:
            continue
        if reason := side.why_not(problem):
            row["sides"][side.name] = {"not_taken": reason}
            continue
        try:
            ready.append(Prepared(side, problem, sets, arguments.backward))
        except Exception as error:  # of a peer as of Facet: the others are still worth having
            row["sides"][side.name] = {"error": (str(error).splitlines() or [type(error).__name__])[0][:200]}
    calls = measure.CallTimes([one.side for one in ready], problem) if problem.device == "cuda" else None
    rounds = [{one.side.name: one.round(arguments) for one in ready} for _ in range(arguments.rounds)]
    for one in ready:
        of = [found[one.side.name] for found in rounds]
        row["sides"][one.side.name] = {**{key: statistics.median(found[key] for found in of) for key in of[0]}, **one.once(arguments)}
    for name, microseconds in calls.medians().items() if calls else ():
        row["sides"][name]["call_us"] = microseconds
    show(row)
    if problem.device == "cuda":
        torch.cuda.empty_cache()
    return row


COLUMNS = {"ms": "ms", "backward_ms": "backward", "mask_ms": "mask", "peak_mb": "MB", "call_us": "us", "first_call_s": "s"}


def show(row):
    print(row["problem"])
    mine = row["sides"].get("facet", {}).get("ms")
    for name, found in row["sides"].items():
        if "ms" not in found:
            if "error" in found:
                print(f"  {name:17} {found['error']}")
            continue
        figures = "  ".join(f"{label} {found[key]:9.3f}" for key, label in COLUMNS.items() if found.get(key) is not None)
        print(f"  {name:17} {figures}" + (f"  {found['ms'] / mine:.2f} times" if mine else ""), flush=True)


def versions():
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else common.cpu_name()
    return {"device": name, "torch": torch.__version__, "cuda": torch.version.cuda, "threads": torch.get_num_threads(),
            "kernels_of": os.environ.get("FA_TARGET", "this GPU")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", nargs="+", choices=("dense", "causal", "f32", "variants"), default=["dense", "causal", "f32", "variants"])
    parser.add_argument("--only", nargs="+", help="names of variants")
    parser.add_argument("--sides", nargs="+", choices=[side.name for side in SIDES], help="[all]")
    parser.add_argument("--length", type=int, help="of the variants [8192, on a CPU 1024]")
    parser.add_argument("--lengths", type=int, nargs="+", help="of the dense and causal problems [all]")
    parser.add_argument("--programs", help="a Python file with more variants")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--tune", action="store_true", help="FlexAttention autotuned, too (a minute a problem)")
    parser.add_argument("--cold", action="store_true", help="first calls in new processes (up to a minute each)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.25, help="of each measurement [0.25]")
    parser.add_argument("--json", help="write the results here")
    parser.add_argument("--commit", default="", help="the commit that Facet was built from, for the record")
    parser.add_argument("--first-call", nargs=2, metavar=("SIDE", "PROBLEM"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    of_tables = [length for _, length in LENGTHS[arguments.device]]
    if unknown := set(arguments.lengths or ()) - set(of_tables):
        parser.error(f"--lengths: no dense or causal problem has length {min(unknown)}: choose from {', '.join(map(str, of_tables))}")
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch._functorch.config.donated_buffer = False  # a backward pass is timed over and over again on one graph
    if arguments.first_call:
        print_first_call(arguments, *arguments.first_call)
        return 0
    missing = [reason for side in SIDES if side.module and (reason := importable(side.module))]
    if missing and arguments.device == "cuda":
        print(*missing, sep="\n")
    rows = []
    for problem in problems(arguments):
        rows.append(compare(arguments, problem))
        common.save(arguments, {**versions(), "rows": rows})
    return 0 if all("ms" in row["sides"].get("facet", {"ms": 0}) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
