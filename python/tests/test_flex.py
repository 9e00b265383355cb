"""FlexAttention's programs: results beside PyTorch's own eager code and fp64, gradients beside fp64."""

import functools
import math

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import flex_attention as pytorch

import reference
from facet.torch import and_masks, create_block_mask, flex_attention, noop_mask, or_masks

B, H, L = 2, 4, 67
torch.manual_seed(1)
SLOPES = torch.rand(H)
DOCUMENT = torch.randint(0, 4, (L,)).sort().values
DOCUMENTS = torch.randint(0, 3, (B, L), dtype=torch.int32)
RELATIVE = torch.randn(H, 2 * L - 1)
PAIR = torch.randn(B, H, L, L)
ROWS, COLUMNS = torch.randn(H, L, 8), torch.randn(H, L, 8)
GLOBAL = torch.arange(L) % 13 == 0
BUCKETS = torch.randn(32, H).bfloat16()
WINDOW, CAP, OFFSET = 17, 5.0, torch.tensor(3)


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def t5(score, b, h, q_idx, kv_idx):
    distance = (q_idx - kv_idx).clamp(min=0)
    large = 16 + (torch.log(distance.float() / 16 + 1e-9) / math.log(8) * 16).to(torch.int32)
    return score + BUCKETS[torch.where(distance < 16, distance, torch.clamp(large, max=31)), h]


def partial_bias(score, b, h, q_idx, kv_idx, *, table, factor):
    return score + factor * table[h, q_idx - kv_idx + L - 1]


class Window:
    def __init__(self, size):
        self.size = size

    def __call__(self, b, h, q_idx, kv_idx):
        return (q_idx - kv_idx).abs() < self.size


SCORES = {
    "identity": lambda s, b, h, q, k: s,
    "times_two": lambda s, b, h, q, k: s * 2,
    "squared": lambda s, b, h, q, k: s * s,
    "alibi": lambda s, b, h, q, k: s + SLOPES[h] * (k - q),
    "alibi, computed": lambda s, b, h, q, k: s + (k - q) * torch.exp2(-((h + 1) * 8.0 / H)),
    "softcap": lambda s, b, h, q, k: CAP * torch.tanh(s / CAP),
    "clamped from below": lambda s, b, h, q, k: torch.clamp(s, 0.1, None),
    "clamped from above": lambda s, b, h, q, k: torch.clamp(s, None, 0.1),
    "causal in the score": lambda s, b, h, q, k: torch.where(q >= k, s, float("-inf")),
    "inverse causal in the score": lambda s, b, h, q, k: torch.where(q < k, -float("inf"), s + 1),
    "relative": lambda s, b, h, q, k: s + (q - k),
    "relative table": lambda s, b, h, q, k: s + RELATIVE[h, q - k + L - 1],
    "indices from the end": lambda s, b, h, q, k: s + RELATIVE[h, q - k],
    "pair": lambda s, b, h, q, k: s + PAIR[b, h, q, k],
    "a row of a table": lambda s, b, h, q, k: s + PAIR[b][h][q][k],
    "one batch entry of a table": lambda s, b, h, q, k: s + PAIR[0, h, q, k],
    "dot product": lambda s, b, h, q, k: s + torch.dot(ROWS[h, q], COLUMNS[h, k]),
    "sum of a product": lambda s, b, h, q, k: s + (ROWS[h, q] * COLUMNS[h, k]).sum(-1) * 0.5,
    "largest of a row": lambda s, b, h, q, k: s + ROWS[h, q].amax() - COLUMNS[h, k, 2:6].mean(),
    "by head": lambda s, b, h, q, k: torch.where(h % 2 == 0, s * 2, s.abs() + 0.5 * (q - k).float()),
    "trigonometric": lambda s, b, h, q, k: torch.sin(torch.cos(s)) + torch.tan(b),
    "t5": t5,
    "partial": functools.partial(partial_bias, table=RELATIVE, factor=0.5),
    "gelu of the score": lambda s, b, h, q, k: torch.log(F.gelu(s) + 1.0),
    "activations": lambda s, b, h, q, k: F.silu(s) + F.relu(s) + F.softplus(s) + F.leaky_relu(s) + F.elu(s) + torch.sigmoid(s),
    "gelu by tanh": lambda s, b, h, q, k: F.gelu(s, approximate="tanh"),
    "powers": lambda s, b, h, q, k: s ** 2 * 0.1 + torch.pow(2.0, s * 0.1) + (q - k) ** 2 * 1e-3 + 2.0 ** -(h + 1),
    "division": lambda s, b, h, q, k: s + q // 3 - (k - q) // 5 + (q - k) % 7 + q / 4 + torch.remainder(k - q, 3) + torch.div(q - k, 4, rounding_mode="trunc"),
    "fmod": lambda s, b, h, q, k: s + torch.fmod(q - k, 5) + torch.fmod(s, 0.7) * 0,
    "bits": lambda s, b, h, q, k: s + ((q & 3) | (k << 1) ^ (q >> 2)) * 0.1,
    "bools as numbers": lambda s, b, h, q, k: s + (q > k) * 0.5 + GLOBAL[k] - (q == k).float(),
    "rounding": lambda s, b, h, q, k: s + torch.floor(q / 7) + torch.ceil(k / 5) - torch.round(q / 3) + (k / 4).trunc(),
    "masked_fill": lambda s, b, h, q, k: s.masked_fill(q < k, -1e9),
    "minimum": lambda s, b, h, q, k: torch.minimum(s, torch.maximum(s * 0.5, s.new_full((), 0.1))) + torch.min(q, k) * 0.01,
    "types": lambda s, b, h, q, k: s + (q - k).to(s.dtype) * torch.tensor(0.01) + torch.zeros_like(s) + q.long() * 1e-3,
    "captured number in a tensor": lambda s, b, h, q, k: torch.where(q + OFFSET >= k, s, s * 0.5),
    "hyperbolic": lambda s, b, h, q, k: torch.sinh(s * 0.3) + torch.cosh(s * 0.2) + torch.erf(s) + torch.log1p(s.abs()) + torch.atan(s),
}
MASKS = {
    "noop": noop_mask,
    "causal": causal,
    "window": lambda b, h, q, k: (q >= k) & (q - k < WINDOW),
    "document": lambda b, h, q, k: DOCUMENT[q] == DOCUMENT[k],
    "documents of a batch, causal": and_masks(causal, lambda b, h, q, k: DOCUMENTS[b, q] == DOCUMENTS[b, k]),
    "window or global": or_masks(Window(9), lambda b, h, q, k: GLOBAL[q] | GLOBAL[k]),
    "by head": lambda b, h, q, k: torch.where(h < 2, q >= k, (q - k).abs() < 5),
    "not": lambda b, h, q, k: ~((q // 8 == k // 8) | (k % 3 == 1)),
    "logical": lambda b, h, q, k: torch.logical_or(torch.logical_and(q > 3, k > 3), torch.logical_not(torch.logical_xor(q > 5, k > 5))),
    "some rows empty": lambda b, h, q, k: (q > 10) & (k < q),
    "blocks": lambda b, h, q, k: (q // 16 + k // 16) % 2 == 0,
    "chosen in a loop": lambda b, h, q, k: functools.reduce(torch.logical_or, [(q + i) % 11 == k % 11 for i in range(3)]),
    "all of a row": lambda b, h, q, k: (ROWS[h, q] > COLUMNS[h, k] - 1.5).all(-1),
}


def inputs(dtype=torch.float32, length=L, kv_length=None, heads=H, kv_heads=None, dim=32, dim_v=None, grad=False):
    kv_length, kv_heads = kv_length or length, kv_heads or heads
    shapes = (B, heads, length, dim), (B, kv_heads, kv_length, dim), (B, kv_heads, kv_length, dim_v or dim)
    return [torch.randn(shape, dtype=dtype, requires_grad=grad) for shape in shapes]


def eager(monkeypatch, q, k, v, score_mod, mask_mod, **settings):
    monkeypatch.setattr(pytorch, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    block_mask = pytorch.create_block_mask(mask_mod, B, q.shape[1], q.shape[2], k.shape[2], "cpu") if mask_mod else None
    return pytorch.flex_attention(q, k, v, score_mod, block_mask, **settings)


def mask_for(mask_mod, q, k):
    return create_block_mask(mask_mod, B, q.shape[1], q.shape[2], k.shape[2], "cpu") if mask_mod else None


@pytest.mark.parametrize("name", SCORES)
def test_score_mods(monkeypatch, name):
    q, k, v = inputs()
    o, lse = flex_attention(q, k, v, SCORES[name], return_lse=True)
    expected, expected_lse, bound = reference.attention(q, k, v, SCORES[name])
    reference.check(o, expected, bound, torch.float32)
    torch.testing.assert_close(lse.double(), expected_lse, atol=3e-5, rtol=3e-5)
    torch.testing.assert_close(o, eager(monkeypatch, q, k, v, SCORES[name], None), atol=3e-5, rtol=3e-5)


@pytest.mark.parametrize("name", MASKS)
def test_mask_mods(monkeypatch, name):
    q, k, v = inputs()
    o = flex_attention(q, k, v, None, mask_for(MASKS[name], q, k))
    expected, _, bound = reference.attention(q, k, v, None, MASKS[name])
    reference.check(o, expected, bound, torch.float32)
    torch.testing.assert_close(o, eager(monkeypatch, q, k, v, None, MASKS[name]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("score, mask", [("alibi", "causal"), ("softcap", "window"), ("relative table", "document"), ("pair", "some rows empty")])
def test_16_bits(dtype, score, mask):
    q, k, v = inputs(dtype, grad=True)
    o = flex_attention(q, k, v, SCORES[score], mask_for(MASKS[mask], q, k))
    d_o = torch.randn_like(o)
    o.backward(d_o)
    copies = [x.detach().double().requires_grad_() for x in (q, k, v)]
    expected, _, bound = reference.attention(*copies, SCORES[score], MASKS[mask])
    expected.backward(d_o.double())
    reference.check(o.detach(), expected, bound, dtype)
    for found, copy in zip((q, k, v), copies):
        reference.check_gradient(found.grad, copy.grad, dtype)


@pytest.mark.parametrize("length, kv_length", [(1, 1), (1, 130), (129, 65), (200, 333)])
@pytest.mark.parametrize("heads, kv_heads", [(4, 4), (4, 2), (4, 1)])
def test_lengths_and_grouped_heads(monkeypatch, length, kv_length, heads, kv_heads):
    q, k, v = inputs(length=length, kv_length=kv_length, heads=heads, kv_heads=kv_heads, dim=40, dim_v=16)
    score, mask = SCORES["alibi"], lambda b, h, q, k: (q - k) % 5 < 3
    o = flex_attention(q, k, v, score, mask_for(mask, q, k), enable_gqa=heads != kv_heads)
    expected, _, bound = reference.attention(q, k, v, score, mask)
    reference.check(o, expected, bound, torch.float32)
    torch.testing.assert_close(o, eager(monkeypatch, q, k, v, score, mask, enable_gqa=heads != kv_heads), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dim, dim_v", [(16, 16), (20, 36), (1, 3), (128, 64)])
def test_any_head_dim(dim, dim_v):
    q, k, v = inputs(dim=dim, dim_v=dim_v, grad=True)
    o = flex_attention(q, k, v, SCORES["times_two"])
    o.sum().backward()
    copies = [x.detach().double().requires_grad_() for x in (q, k, v)]
    expected, _, bound = reference.attention(*copies, SCORES["times_two"])
    expected.sum().backward()
    reference.check(o.detach(), expected, bound, torch.float32)
    reference.check_gradient(q.grad, copies[0].grad, torch.float32)


def test_scale_and_keys_of_one_batch_entry():
    q, k, v = inputs()
    o = flex_attention(q, k[:1], v[:1], None, mask_for(causal, q, k), scale=0.7)
    expected, _, bound = reference.attention(q, k[:1].expand(B, -1, -1, -1), v[:1].expand(B, -1, -1, -1), None, causal, scale=0.7)
    reference.check(o, expected, bound, torch.float32)
