"""Attention in fp64 by PyTorch: FlexAttention's functions over every score, and how far a kernel may be from it."""

import torch

# By dtype: eps, c0 and c1 of docs/numerics.md's bound of o, eps (c0 + c1 max|logit|) sum_j p_j |v_j|. In f32 c0 covers the
# order of sums of up to 512 products.
BOUNDS = {torch.float32: (2.0**-23, 64, 16), torch.bfloat16: (2.0**-8, 2, 1), torch.float16: (2.0**-11, 2, 1)}


def every_score(function, *scores, sizes):
    """A mod of every (b, h, q_idx, kv_idx), as PyTorch calls it: with tensors of no dimension, under vmap."""
    indices = [torch.arange(size, dtype=torch.int32) for size in sizes]
    for place in (3, 2, 1, 0):
        dims = [0 if place == i else None for i in range(4)]
        function = torch.vmap(function, in_dims=(*(0 for _ in scores), *dims))
    return function(*scores, *indices)


def attention(q, k, v, score_mod=None, mask_mod=None, scale=None):
    """o, lse, the bound of o's error by eps, c0 and c1: a function of these; all in fp64, with autograd."""
    q, k, v = q.double(), k.double(), v.double()
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    logits = (q @ k.mT) * (q.shape[-1] ** -0.5 if scale is None else scale)
    sizes = logits.shape
    if score_mod is not None:
        logits = every_score(score_mod, logits, sizes=sizes).expand(sizes)
    if mask_mod is not None:
        logits = torch.where(every_score(mask_mod, sizes=sizes).expand(sizes), logits, -torch.inf)
    empty = (logits == -torch.inf).all(-1, keepdim=True)
    lse = torch.logsumexp(torch.where(empty, 0.0, logits), -1)
    lse = torch.where(empty[..., 0], -torch.inf, lse)
    prob = torch.where(empty, 0.0, torch.softmax(torch.where(empty, 0.0, logits), -1))
    largest = torch.where(logits.isinf(), 0.0, logits).abs().amax(-1, keepdim=True).detach()
    weight = (prob @ v.abs()).detach()
    return prob @ v, lse, lambda eps, c0, c1: eps * (c0 + c1 * largest) * weight


def check(o, expected, bound, dtype):
    """Raises where o is farther from the reference than its dtype allows."""
    allowed = bound(*BOUNDS[dtype]) + 1e-30
    excess = ((o.double() - expected).abs() / allowed).max().item()
    assert excess <= 1, f"{excess:.2f} of the bound"


def check_gradient(found, expected, dtype, name=""):
    """Gradients are compared by the root mean square of their error, over that of the gradient: 16 eps in 16 bits, whose o and
    dO are rounded, and 512 eps in f32, whose sums of up to 512 terms are."""
    eps = BOUNDS[dtype][0] * (512 if dtype == torch.float32 else 16)
    error, size = (found.double() - expected).square().mean().sqrt(), expected.square().mean().sqrt()
    assert error <= eps * size + 1e-30, f"{name}: {error / size:.2e} of the gradient's size, {eps:.2e} allowed"
