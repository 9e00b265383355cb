"""impl=: baselines in the place of Facet's own kernels (docs/baselines.md), which have a forward pass alone."""

import re

import numpy as np
import pytest
import torch

import facet
import reference
from facet.torch import attention

BASELINES = ["standard", "flash1"]
CAUSAL = "attention causal\nmask_mod = q_idx >= kv_idx"
BIASED = """
    attention biased
    dtype f32
    tensor bias : f32[num_q_heads, 33] grad
    score_mod = score + bias[h, clamp(q_idx - kv_idx, -16, 16) + 16]
    mask_mod  = q_idx >= kv_idx
    dropout 0.25
"""


def tensors(dtype=torch.float32, length=67, grad=False):
    q, k, v = (torch.randn(2, heads, length, 24, dtype=dtype) for heads in (4, 2, 2))
    return [x.requires_grad_(grad) for x in (q, k, v)]


@pytest.mark.parametrize("impl", BASELINES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_baselines_compute_attention(impl, dtype):
    q, k, v = tensors(dtype)
    for _ in range(2):  # nothing is remembered of a call under another name
        o, lse = attention(q, k, v, CAUSAL, impl=impl, return_lse=True)
        expected, expected_lse, bound = reference.attention(q, k, v, None, lambda b, h, q, k: q >= k)
        reference.check(o, expected, bound, dtype)
        torch.testing.assert_close(lse.double(), expected_lse, rtol=1e-3, atol=1e-3)
        reference.check(attention(q, k, v, CAUSAL), expected, bound, dtype)


@pytest.mark.parametrize("impl", BASELINES)
def test_captured_tensors_and_dropout_are_those_of_the_fused_kernel(impl):
    q, k, v = tensors()
    bias = torch.randn(4, 33)
    fused, found = (attention(q, k, v, BIASED, bias=bias, seed=7, impl=name) for name in ("facet", impl))
    torch.testing.assert_close(found, fused)


@pytest.mark.parametrize("impl", BASELINES)
def test_kernels_say_what_they_are(impl):
    kernel = facet.compile(facet.Spec(CAUSAL).with_dtype("f32").with_head_dim(32), device="cpu", impl=impl)
    assert {"standard": " standard ", "flash1": " kv_outer "}[impl] in kernel.plan
    assert kernel.plan in str(kernel.explain())
    q = np.random.default_rng(0).standard_normal((1, 2, 50, 32)).astype(np.float32)
    fused = facet.compile(kernel.spec, device="cpu")
    np.testing.assert_allclose(kernel(q, q, q), fused(q, q, q), atol=1e-5)
    bound = kernel.bind()
    np.testing.assert_allclose(bound(q[:, :, :1], q, q), fused(q[:, :, :1], q, q), atol=1e-5)


def test_unknown_names_and_two_are_refused():
    for call in (lambda: facet.compile(CAUSAL, device="cpu", impl="flash2"), lambda: attention(*tensors(), CAUSAL, impl="flash2")):
        with pytest.raises(facet.ArgumentError, match="impl is 'flash2'; it may be facet, standard or flash1"):
            call()
    with pytest.raises(facet.ArgumentError, match="either kv_outer or standard"):
        facet.compile(CAUSAL, device="cpu", impl="flash1", plan="standard")


@pytest.mark.parametrize("impl", BASELINES)
def test_a_baseline_has_no_backward_pass(impl):
    with pytest.raises(facet.ArgumentError, match=f"{impl} attention has no backward pass"):
        facet.compile(CAUSAL, device="cpu", impl=impl, backward=True)
    refused = pytest.raises(facet.ArgumentError, match=re.escape(f"{impl} attention has no backward pass, and a gradient is asked for"))
    q, k, v = tensors(grad=True)
    with refused:
        attention(q, k, v, CAUSAL, impl=impl)
    plain = tensors()
    with refused:
        attention(*plain, BIASED, bias=torch.zeros(4, 33, requires_grad=True), impl=impl)
    with refused:
        torch.func.grad(lambda q: attention(q, *plain[1:], CAUSAL, impl=impl).sum())(plain[0])
    with torch.no_grad():
        o = attention(q, k, v, CAUSAL, impl=impl)
    torch.testing.assert_close(o, attention(q.detach(), k.detach(), v.detach(), CAUSAL, impl=impl))


@pytest.mark.parametrize("impl", BASELINES)
def test_under_torch_compile(impl):
    q, k, v = tensors()
    compiled = torch.compile(lambda q: attention(q * 2, k, v, CAUSAL, impl=impl) + 1, fullgraph=True)
    torch.testing.assert_close(compiled(q), attention(q * 2, k, v, CAUSAL) + 1)
    with pytest.raises(Exception, match="has no backward pass, and a gradient is asked for"):
        compiled(q.clone().requires_grad_())
