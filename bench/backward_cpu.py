#!/usr/bin/env python3
"""Facet's host back end beside PyTorch on the same cores, in one run: forward and backward together, random normal inputs.

    bench/backward_cpu.py --facet build/release/facet --threads 2 --json results.json [--dtype bf16]

full            scaled_dot_product_attention through autograd
causal, window  the same with the mask as a tensor, as any mask that has no name must be given; where PyTorch has a name
                (is_causal), that as well

PyTorch has two ways on a CPU, `flash` and `math`; each row takes the faster one, and says which. FlexAttention has no backward
pass on the CPU. Both sides take turns, several rounds; the table gives medians over rounds and the ratio of the medians.
"""
import os
import statistics
import sys

import needs

needs.modules("torch")

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import common

WAYS = {"flash": SDPBackend.FLASH_ATTENTION, "math": SDPBackend.MATH}


class Peer:
    """scaled_dot_product_attention with these options, forward and backward."""

    def __init__(self, way, tensors, gradient, **options):
        self.way, self.tensors, self.gradient, self.options = way, tensors, gradient, options

    def run(self):
        with sdpa_kernel(WAYS[self.way]):
            output = scaled_dot_product_attention(*self.tensors, **self.options)
        torch.autograd.grad(output, self.tensors, self.gradient)


def fastest(tensors, gradient, **options):
    peers = [Peer(way, tensors, gradient, **options) for way in WAYS]
    return min(peers, key=lambda peer: common.time_ms(peer.run, statistics.median))


def facet(arguments, spec, shape, extra):
    try:
        return common.facet_bench(arguments.facet, spec, shape, arguments.dtype, "--threads", str(arguments.threads), "--backward",
                                  *extra, device="host", milliseconds=700)["results"][0]
    except RuntimeError as error:
        sys.exit(str(error))


def rows_of(shape, dtype, window):
    batch, heads, n, d = shape
    tensors = [torch.randn(batch, heads, n, d).to(dtype).requires_grad_() for _ in range(3)]
    gradient = torch.randn(batch, heads, n, d).to(dtype)
    i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
    causal, near = i >= j, (i >= j) & (i - j < window)
    return [
        ("full", "full", (), {"sdpa": fastest(tensors, gradient)}),
        ("causal", "causal", (), {"sdpa, mask": fastest(tensors, gradient, attn_mask=causal),
                                  "sdpa, is_causal": fastest(tensors, gradient, is_causal=True)}),
        (f"window {window}", "sliding_window", ("--set", f"window={window}"),
         {"sdpa, mask": fastest(tensors, gradient, attn_mask=near)}),
    ]


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--shape", default="1,8,2048,64", help="batch,heads,length,head_dim [1,8,2048,64]")
    arguments = parser.parse_args()
    shape = [int(number) for number in arguments.shape.split(",")]
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    rows = []
    print("B{} H{} N{} D{} ".format(*shape) + f"{arguments.dtype}, {arguments.threads} threads, {arguments.rounds} rounds; "
          "ms of a forward and a backward pass")
    for name, spec, extra, peers in rows_of(shape, {"f32": torch.float32, "bf16": torch.bfloat16}[arguments.dtype], 256):
        theirs, mine = {peer: [] for peer in peers}, []
        for _ in range(arguments.rounds):
            mine.append(facet(arguments, spec, shape, extra))
            for peer, call in peers.items():
                theirs[peer].append(common.time_ms(call.run, statistics.median))
        both = [line["forward_backward"]["time_ms"]["median"] for line in mine]
        backward = [line["backward"]["time_ms"]["median"] for line in mine]
        facet_ms = statistics.median(both)
        row = {"row": name, "spec": spec, "facet_ms": both, "facet_backward_ms": backward, "peers": {}}
        print(f"{name:<10} facet {facet_ms:7.1f} ({min(both):.1f} .. {max(both):.1f}), of it backward "
              f"{statistics.median(backward):.1f}", flush=True)
        for peer, times in theirs.items():
            ratio = statistics.median(times) / facet_ms
            row["peers"][peer] = {"way": peers[peer].way, "ms": times, "ratio": ratio}
            print(f"{'':<10} {peer} ({peers[peer].way}) {statistics.median(times):7.1f} "
                  f"({min(times):.1f} .. {max(times):.1f})   {ratio:.2f}x", flush=True)
        rows.append(row)
    common.save(arguments, {"cpu": common.cpu_name(), "torch": torch.__version__, "shape": shape, "dtype": arguments.dtype,
                            "threads": arguments.threads, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
