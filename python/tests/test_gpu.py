"""facet.torch on an NVIDIA GPU, where calls are ordered on streams: graphs, many streams, a forked child.

What a GPU shares with the CPU (results, gradients, operators, compiling) is in test_attention.py, by its fixture `device`.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from facet.torch import attention, create_block_mask, flex_attention

pytestmark = pytest.mark.usefixtures("gpu")

SLOPED = """
    attention sloped
    param  window : i32 = 50
    tensor slopes : f32[num_q_heads] grad
    score_mod = score - slopes[h] * (q_idx - kv_idx)
    mask_mod  = q_idx >= kv_idx and q_idx - kv_idx < window
"""
PLAIN = "attention plain"
DOCUMENTS = """
    attention documents
    tensor document : i32[kv_len]
    mask_mod = q_idx >= kv_idx and document[q_idx] == document[kv_idx]
"""  # whose tiles a pass before the kernel finds


def tensors(length=300, dim=64, dtype=torch.bfloat16):
    return [torch.randn(2, heads, length, dim, dtype=dtype, device="cuda") for heads in (8, 2, 2)]


def call(spec, q, k, v):
    if spec is SLOPED:
        return attention(q, k, v, spec, slopes=torch.full((8,), 0.1, device="cuda"))
    if spec is DOCUMENTS:
        return attention(q, k, v, spec, document=torch.arange(q.shape[2], dtype=torch.int32, device="cuda") // 70)
    return attention(q, k, v, spec)


@pytest.mark.parametrize("spec", [PLAIN, SLOPED, DOCUMENTS], ids=["plain", "sloped", "documents"])
def test_a_forward_is_captured_and_replayed(spec):
    inputs = tensors()
    call(spec, *inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = call(spec, *inputs)
    for _ in range(3):
        for tensor in inputs:
            tensor.copy_(torch.randn_like(tensor))
        graph.replay()
        assert torch.equal(o, call(spec, *inputs))


def test_flex_attention_is_captured_and_replayed():
    q, k, v = tensors()
    mask = create_block_mask(lambda b, h, q_idx, kv_idx: (q_idx >= kv_idx) & (q_idx - kv_idx < 100), None, None, 300, 300, "cuda")
    run = lambda: flex_attention(q, k, v, lambda s, b, h, i, j: s * 0.5, mask, enable_gqa=True)  # noqa: E731
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = run()
    q.copy_(torch.randn_like(q))
    graph.replay()
    assert torch.equal(o, run())


def test_a_training_step_is_captured_and_replayed():
    leaves = [tensor.requires_grad_() for tensor in tensors()]
    slopes = torch.full((8,), 0.1, device="cuda", requires_grad=True)
    d_o = torch.randn_like(leaves[0])

    def step():
        o = attention(*leaves, SLOPED, slopes=slopes, window=80)
        return o, *torch.autograd.grad(o, (*leaves, slopes), d_o)

    aside = torch.cuda.Stream()  # PyTorch asks for a warm-up on a stream of its own
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step()
    for _ in range(3):
        with torch.no_grad():
            for tensor in (*leaves, slopes):
                tensor.copy_(torch.rand_like(tensor))
        graph.replay()
        for replayed, expected in zip(found, step()):
            error = (replayed.float() - expected.float()).abs().max()  # sums in another order, then rounded to 8 bits
            assert error <= 2**-7 * expected.float().abs().max()


def test_eight_threads_on_eight_streams():
    problems = [((PLAIN, SLOPED, DOCUMENTS)[i % 3], tensors(length)) for i, length in enumerate((17, 64, 128, 200, 333, 512, 777, 1024))]
    expected = [call(spec, *inputs) for spec, inputs in problems]
    torch.cuda.synchronize()

    def work(spec, inputs):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            found = [call(spec, *inputs) for _ in range(50)]
        stream.synchronize()
        return found

    with ThreadPoolExecutor(len(problems)) as pool:
        for found, wanted in zip(pool.map(work, *zip(*problems)), expected):
            assert all(torch.equal(o, wanted) for o in found)


FORKED = """
import os, torch, facet.torch
on_gpu = torch.randn(2, 4, 300, 64, device="cuda")
before = facet.torch.attention(on_gpu, on_gpu, on_gpu, "attention a")
on_cpu = on_gpu.cpu()
torch.cuda.synchronize()
child = os.fork()
if child == 0:  # CUDA does not outlive a fork: what a worker computes it computes on the CPU
    o = facet.torch.attention(on_cpu, on_cpu, on_cpu, "attention a")
    os._exit(0 if torch.allclose(o, torch.nn.functional.scaled_dot_product_attention(on_cpu, on_cpu, on_cpu), atol=1e-5) else 1)
assert os.waitpid(child, 0)[1] == 0
assert torch.equal(facet.torch.attention(on_gpu, on_gpu, on_gpu, "attention a"), before)
"""


@pytest.mark.parametrize("spec", [PLAIN, DOCUMENTS], ids=["plain", "documents"])
def test_large_backward_passes_on_six_streams(spec):
    """So large that passes wait for each other head by head, from compute capability 9.0 on (docs/backward.md)."""
    leaves = [torch.randn(2, 16, 8192, 128, dtype=torch.bfloat16, device="cuda", requires_grad=True) for _ in range(3)]
    d_o = torch.randn_like(leaves[0])

    def gradients():
        return torch.autograd.grad(call(spec, *leaves), leaves, d_o)

    expected = gradients()
    torch.cuda.synchronize()
    found = []
    for stream in [torch.cuda.Stream() for _ in range(6)]:
        with torch.cuda.stream(stream):
            found += [gradients() for _ in range(4)]
    torch.cuda.synchronize()
    for d_q, d_k, d_v in found:
        assert torch.equal(d_k, expected[1]) and torch.equal(d_v, expected[2])
        error = (d_q.float() - expected[0].float()).abs().max()  # sums in another order, then rounded to 8 bits
        assert error <= 2**-7 * expected[0].float().abs().max()


def test_a_forked_child_of_a_process_with_a_gpu_computes(tmp_path):
    (tmp_path / "program.py").write_text(FORKED)
    done = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
