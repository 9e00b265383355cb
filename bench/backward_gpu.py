#!/usr/bin/env python3
"""Facet's backward pass beside PyTorch's on one NVIDIA GPU, in one run: random normal inputs, the gradients of q, k, v and of what
a variant learns.

    bench/backward_gpu.py --facet build/release/facet --json results.json [--rows bf16 causal f32 variants] [--gpu NAME]
                          [--length 8192 ...] [--tune]

bf16      full attention beside FlashAttention-2 of scaled_dot_product_attention, over head_dim and length
causal    the same with the causal mask
f32       beside its memory-efficient kernel, without TF32
variants  specs of specs/ and of bench/variants/backward/ beside FlexAttention, its block mask made beforehand

The forward pass is not in the times. Peers run by autograd over a graph that is kept, all launches enqueued before the first is
waited for; they are timed before and after Facet, and the better of their two medians counts. TFLOP/s count five products of every
score, with the causal mask half of them. --gpu takes the kernels of an older GPU (a100: sm_80's); --tune also runs
mode="max-autotune-no-cudagraphs" and keeps FlexAttention's better time.
"""
import os
import sys

import torch
from torch.nn.attention import sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

import common
from flex import shipped
from flex.variant import BATCH, DIM, HEADS
from peers_gpu import BACKENDS, ROWS, facet, median_ms, rotate, versions

LEARNED = {name: os.path.join(common.SPECS, "..", "bench", "variants", "backward", name + ".fa") for name in ("relative_bias", "t5_bias")}
torch._dynamo.config.cache_size_limit = 1000


def backward_ms(take, forward, learned=()):
    """Median of backward passes alone. `forward` is run once for each set of tensors that `take` gives in turn."""
    graphs, first = [], None
    while True:
        tensors = take()
        if first is None:
            first = tensors
        elif tensors[0] is first[0]:
            break
        leaves = [tensor.requires_grad_() for tensor in tensors]
        output = forward(*leaves)
        graphs.append((output, (*leaves, *learned), torch.randn_like(output)))
    state = {"next": 0}

    def run():
        state["next"] += 1
        output, leaves, gradient = graphs[state["next"] % len(graphs)]
        torch.autograd.grad(output, leaves, gradient, retain_graph=True)

    return median_ms(run)


def show(what, row, peers):
    """Prints a row and gives it the ratio of the best peer's time to Facet's."""
    mine = row["facet"]
    if "error" in mine or not peers:
        print(f"{what} failed: {mine.get('error', row['peers'])}", flush=True)
        return row
    row["facet_ms"] = mine["backward"]["time_ms"]["median"]
    row["peer_ms"] = min(peers)
    row["ratio"] = row["peer_ms"] / row["facet_ms"]
    print(f"{what} peer {row['peer_ms']:8.3f} ms   facet {row['facet_ms']:8.3f} ms   {row['ratio']:.2f}x   "
          f"{row.get('tflops', '')}", flush=True)
    return row


def plain(arguments, of):
    """Full or causal attention beside scaled_dot_product_attention."""
    backend = next(iter(BACKENDS[of.dtype].values()))

    def peer():
        def forward(q, k, v):
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(q, k, v, is_causal=of.is_causal, enable_gqa=of.group > 1)
        return backward_ms(rotate(of.batch, of.heads, of.length, of.head_dim, of.dtype, of.group), forward)

    peers = [peer()]
    mine = facet(arguments.facet, "causal" if of.is_causal else "full", (of.batch, of.heads, of.length, of.head_dim), of.dtype,
                 "--kv-heads", str(of.heads // of.group), "--backward", *arguments.kernels)
    peers.append(peer())
    row = {**of._asdict(), "facet": mine, "peers": {next(iter(BACKENDS[of.dtype])): min(peers)}}
    if "error" not in mine:
        row["tflops"] = {name: 2.5 * of.flops() / ms / 1e9
                         for name, ms in {**row["peers"], "facet": mine["backward"]["time_ms"]["median"]}.items()}
    what = (f"{of.dtype:<4} {'causal' if of.is_causal else 'dense':<6} B{of.batch:<2} H{of.heads}/{of.heads // of.group} "
            f"N{of.length:<6} D{of.head_dim:<4}")
    return show(what, row, peers)


def flex_ms(variant, n, mode):
    torch._dynamo.reset()
    compiled = torch.compile(flex_attention, dynamic=False, mode=mode)
    mask = None
    if variant.mask_mod is not None:
        mask = torch.compile(create_block_mask)(variant.mask_mod, *variant.mask_size(n), device="cuda")
    learned = tuple(tensor.requires_grad_() for tensor in variant.learned)
    forward = lambda q, k, v: compiled(q, k, v, score_mod=variant.score_mod, block_mask=mask, scale=variant.scale)
    return backward_ms(rotate(BATCH, HEADS, n, DIM), forward, learned)


def varied(arguments, name, variant, n):
    """A variant beside FlexAttention."""
    row, times = {"variant": name, "length": n, "peers": {}}, []

    def peer():
        for mode in [None, "max-autotune-no-cudagraphs"] if arguments.tune else [None]:
            try:
                times.append(flex_ms(variant, n, mode))
                row["peers"][f"flex, {mode or 'default'}"] = times[-1]
            except Exception as error:  # a candidate that does not fit is the peer's result, not ours
                row["peers"][f"flex, {mode or 'default'}"] = str(error)[:300]
            torch.cuda.empty_cache()

    peer()
    row["facet"] = facet(arguments.facet, LEARNED.get(name, variant.spec), (BATCH, HEADS, n, DIM), "bf16", "--backward",
                         *variant.extra, *arguments.kernels)
    return show(f"{name:18} N{n:<6}", row, times)


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--rows", nargs="+", choices=[*ROWS, "variants"], default=[*ROWS, "variants"], help="[all]")
    parser.add_argument("--length", type=int, nargs="+", default=[8192], help="of the variants [8192]")
    parser.add_argument("--only", nargs="+", help="names of variants")
    parser.add_argument("--gpu", help="the kernels of this older GPU")
    parser.add_argument("--tune", action="store_true", help="max-autotune as well (a minute a variant)")
    arguments = parser.parse_args()
    arguments.kernels = ("--gpu", arguments.gpu) if arguments.gpu else ()
    torch.backends.cuda.matmul.allow_tf32 = False
    rows, variants = [], []
    for name in arguments.rows:
        if name != "variants":
            for of in ROWS[name]:
                rows.append(plain(arguments, of))
                torch.cuda.empty_cache()
            continue
        for n in arguments.length:
            for of, variant in shipped.variants(n).items():
                if not arguments.only or of in arguments.only:
                    variants.append(varied(arguments, of, variant, n))
    common.save(arguments, {**versions(), "kernels": arguments.gpu or "its own", "rows": rows, "variants": variants})
    return 0 if all("ratio" in row for row in rows + variants) else 1


if __name__ == "__main__":
    sys.exit(main())
