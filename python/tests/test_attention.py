"""facet.torch.attention: results and gradients beside fp64, and everything PyTorch does around an operator."""

import math
import pathlib

import pytest
import torch

import facet
import facet.torch
import reference
from facet.torch import attention, run
from facet.torch.ops import attention_op, one_line

ALIBI = """
    attention learned_alibi
    dtype f32
    param  window : i32 = 1000
    param  tau    : f32 = 1.0 grad
    tensor slopes : f32[num_q_heads] grad
    score_mod = score * tau - slopes[h] * (q_idx - kv_idx)
    mask_mod  = q_idx >= kv_idx and q_idx - kv_idx < window
"""
DROPPED = "attention dropped\ndropout 0.25"


def tensors(dtype=torch.float32, length=67, heads=4, kv_heads=2, dim=24, grad=True, device="cpu"):
    q, k, v = (torch.randn(2, h, length, dim, dtype=dtype, device=device) for h in (heads, kv_heads, kv_heads))
    return [x.requires_grad_(grad) for x in (q, k, v)]


def alibi(slopes, tau, window):
    score = lambda s, b, h, q, k: s * tau - slopes[h] * (q - k)  # noqa: E731
    return score, lambda b, h, q, k: (q >= k) & (q - k < window)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_results_and_gradients(dtype, device):
    q, k, v = tensors(dtype, device=device)
    slopes, tau = torch.rand(4, device=device, requires_grad=True), torch.tensor(1.3, device=device, requires_grad=True)
    o, lse = attention(q, k, v, ALIBI, slopes=slopes, tau=tau, window=20, return_lse=True)
    assert o.dtype == dtype and lse.dtype == torch.float32
    d_o, d_lse = torch.randn_like(o), torch.randn_like(lse)
    torch.autograd.backward((o, lse), (d_o, d_lse))
    found = [x.grad.cpu() for x in (q, k, v, slopes, tau)]
    copies = [x.detach().cpu().double().requires_grad_() for x in (q, k, v, slopes, tau)]
    expected, expected_lse, bound = reference.attention(*copies[:3], *alibi(copies[3], copies[4], 20))
    torch.autograd.backward((expected, expected_lse), (d_o.cpu().double(), d_lse.cpu().double()))
    reference.check(o.detach().cpu(), expected, bound, dtype)
    for name, gradient, copy in zip(("q", "k", "v", "slopes", "tau"), found, copies):
        reference.check_gradient(gradient, copy.grad, dtype, name)


def test_hooks_from_a_file_beside_the_spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = facet.load(pathlib.Path(__file__).parents[2] / "specs" / "kerple.fa")
    q, k, v = tensors()
    r1, r2 = torch.rand(4) + 0.1, torch.rand(4) + 0.1
    o = attention(q, k, v, spec, r1=r1, r2=r2)
    score = lambda s, b, h, i, j: s - r1.double()[h] * torch.log1p(r2.double()[h] * (i - j).clamp(min=0))  # noqa: E731
    expected, _, bound = reference.attention(q, k, v, score, lambda b, h, i, j: i >= j)
    reference.check(o.detach(), expected.detach(), bound, torch.float32)
    assert o.requires_grad and facet.Spec(spec.text).text == spec.text
    assert spec.with_head_dim(64).with_dtype("f32").text == facet.Spec(spec.text).with_head_dim(64).with_dtype("f32").text


def test_gradient_of_lse_alone():
    q, k, v = tensors()
    attention(q, k, v, "attention plain", return_lse=True)[1].sum().backward()
    copies = [x.detach().double().requires_grad_() for x in (q, k, v)]
    reference.attention(*copies)[1].sum().backward()
    reference.check_gradient(q.grad, copies[0].grad, torch.float32)
    reference.check_gradient(k.grad, copies[1].grad, torch.float32)
    assert v.grad.count_nonzero() == 0


def test_rows_without_keys():
    q, k, v = tensors()
    o, lse = attention(q, k, v, "attention later\nmask_mod = kv_idx > q_idx + 60", return_lse=True)
    assert (o[:, :, 6:] == 0).all() and (lse[:, :, 6:] == -math.inf).all() and lse[:, :, :6].isfinite().all()
    (o.sum() + lse[:, :, :6].sum()).backward()
    assert (q.grad[:, :, 6:] == 0).all() and q.grad.isfinite().all()


def test_layout_of_the_result_is_that_of_q():
    q = torch.randn(2, 50, 4, 24).transpose(1, 2)
    assert attention(q, q, q, "attention plain").transpose(1, 2).is_contiguous()
    strided = torch.randn(2, 4, 24, 50).transpose(2, 3)  # rows that no kernel reads: copied
    torch.testing.assert_close(attention(strided, q, q, "attention plain"), attention(strided.contiguous(), q, q, "attention plain"))


def test_lse_of_any_strides():
    q, k, v = tensors(grad=False)
    call = run.Call(facet.Spec("attention plain").with_head_dim(24).with_dtype("f32").text, [], [], None)
    o, lse = run.forward(call, q, k, v, [], [], None)
    d_o, d_lse = torch.randn_like(o), torch.randn_like(lse)
    strided = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (lse, d_lse)]
    gradients = run.backward(call, d_o, strided[1], q, k, v, o, strided[0], [], [], None)
    torch.testing.assert_close(gradients, run.backward(call, d_o, d_lse, q, k, v, o, lse, [], [], None))


def test_dropout_follows_the_generator():
    q, k, v = tensors(grad=False)
    torch.manual_seed(5)
    first, second = attention(q, k, v, DROPPED), attention(q, k, v, DROPPED)
    torch.manual_seed(5)
    assert torch.equal(attention(q, k, v, DROPPED), first) and not torch.equal(first, second)
    assert torch.equal(attention(q, k, v, DROPPED, seed=7), attention(q, k, v, DROPPED, seed=torch.tensor(7)))
    assert torch.equal(attention(q, k, v, DROPPED, dropout_p=0), attention(q, k, v, "attention plain"))


def test_dropout_drops_the_same_backward():
    q, k, v = tensors(kv_heads=4)
    attention(q, k, v, DROPPED, seed=3).backward(torch.ones_like(v))
    found = v.grad.clone()
    with torch.no_grad():  # o is linear in v: its gradient is what each element of v changes
        moved = v.clone()
        moved[0, 0, 5, 0] += 1
        change = attention(q, k, moved, DROPPED, seed=3) - attention(q, k, v, DROPPED, seed=3)
    assert found[0, 0, 5, 0] == pytest.approx(change.sum().item(), rel=1e-3)


@pytest.mark.parametrize("change, message", [
    ({"slopes": torch.rand(4, requires_grad=True)}, "'slopes' requires a gradient, and the spec does not mark it"),
    ({"slopes": None}, "tensor 'slopes' is missing"), ({"slope": 1}, "'slope' is neither a tensor nor a param"),
    ({"window": 2.5}, "param 'window' is an i32"), ({"window": torch.zeros(2)}, "its tensor has 2 elements"),
    ({"seed": -1, "dropout_p": 0.5}, "seed is -1"),
])
def test_arguments_that_do_not_fit(change, message):
    q, k, v = tensors(grad=False)
    spec = ALIBI.replace(" grad", "") + "    dropout 0.5\n"
    with pytest.raises(facet.ArgumentError) as raised:
        attention(q, k, v, spec, **{"slopes": torch.rand(4), **change})
    assert message in str(raised.value)


def test_tensors_that_do_not_fit():
    q, k, v = tensors(grad=False)
    for arrays, message in [((q[0], k, v), "q has 3 dimensions"), ((q, k.bfloat16(), v), "k is torch.bfloat16 and q torch.float32"),
                            ((q.double(), k.double(), v.double()), "float32, float16 and bfloat16"), ((q, k[:, :1], v), "they must be the same"),
                            ((q, k.to("meta"), v), "k is on meta")]:
        with pytest.raises(facet.ArgumentError) as raised:
            attention(*arrays, "attention plain")
        assert message in str(raised.value)


def test_opcheck(device):
    q, k, v = tensors(device=device)
    text = facet.Spec(ALIBI).with_head_dim(24).text
    slopes, tau = torch.rand(4, device=device, requires_grad=True), torch.tensor(1.3, requires_grad=True)
    torch.library.opcheck(attention_op, (q, k, v, one_line(text), [slopes], [tau], [1], [20.0, 1.0], None, None, "facet"))


def test_fullgraph_compile(device):
    q, k, v = tensors(device=device)
    slopes = torch.rand(4, device=device, requires_grad=True)

    def block(q, k, v, slopes):
        return attention(q * 2, k, v, ALIBI, slopes=slopes, window=20) + 1

    compiled = torch.compile(block, fullgraph=True)
    o, expected = compiled(q, k, v, slopes), block(q, k, v, slopes)
    torch.testing.assert_close(o, expected)
    found = torch.autograd.grad(o.sum(), (q, k, v, slopes))
    torch.testing.assert_close(found, torch.autograd.grad(expected.sum(), (q, k, v, slopes)))


def test_a_traced_operator_has_no_line_break(device):
    """The compiler prints arguments into comments of the Triton code that it writes."""
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    q, k, v = tensors(grad=False, device=device)
    text = "# a \\ and a \\n and a \\r\r\n" + ALIBI.lstrip()
    slopes = torch.rand(4, device=device)
    o = torch.compile(lambda: attention(q, k, v, text, slopes=slopes, window=20), fullgraph=True, backend=backend)()
    torch.testing.assert_close(o, attention(q, k, v, text, slopes=slopes, window=20))
    texts = [argument for node in graphs[0].graph.nodes for argument in node.args if isinstance(argument, str)]
    assert any("score_mod" in text for text in texts)
    assert all(len(text.splitlines()) <= 1 for text in texts)


def test_func_transforms():
    q, k, v = tensors(grad=False)
    slopes = torch.rand(4)

    def loss(q, slopes):
        return attention(q, k, v, ALIBI, slopes=slopes, window=20).square().sum()

    wanted = slopes.clone().requires_grad_()
    loss(q, wanted).backward()
    torch.testing.assert_close(torch.func.grad(loss, 1)(q, slopes), wanted.grad)
    batched = torch.func.vmap(lambda q: attention(q, k, v, ALIBI, slopes=slopes))(torch.stack([q, q + 1]))
    torch.testing.assert_close(batched[1], attention(q + 1, k, v, ALIBI, slopes=slopes))
    each = torch.func.vmap(torch.func.grad(loss, 1), (None, 0))(q, torch.stack([slopes, slopes]))
    torch.testing.assert_close(each[1], wanted.grad)


def test_second_derivatives_are_refused():
    q, k, v = tensors()
    gradient, = torch.autograd.grad(attention(q, k, v, "attention plain").square().sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match="no second derivative"):
        gradient.sum().backward()


def test_autocast_and_checkpointing():
    q, k, v = tensors()
    with torch.autocast("cpu", torch.bfloat16):
        assert attention(q, k, v, "attention plain").dtype == torch.bfloat16
    slopes = torch.rand(4, requires_grad=True)
    run = lambda q: attention(q, k, v, ALIBI, slopes=slopes)  # noqa: E731
    torch.utils.checkpoint.checkpoint(run, q, use_reentrant=False).sum().backward()
    torch.testing.assert_close(q.grad, torch.autograd.grad(run(q).sum(), q)[0])


@pytest.mark.parametrize("spec", [
    "", "score_mod = 5.0 * tanh(score / 5.0)", "mask_mod = q_idx >= kv_idx", "mask_mod = abs(q_idx - kv_idx) < 3",
    "score_mod = score - 0.1 * abs(q_idx - kv_idx)", "sink 0.5", "score_mod = where(h % 2 == 0, score, 2.0 * score)",
    "score_mod = score * exp(-0.1 * (q_idx - kv_idx))\nmask_mod = q_idx >= kv_idx",
])
def test_gradcheck(spec, device):
    """Central differences of the kernel itself, in f32: a step of 2^-6 leaves errors near its square."""
    q, k, v = (torch.randn(1, 2, 5, 8, device=device, requires_grad=True) for _ in range(3))
    run = lambda *x: attention(*x, f"attention a\n{spec}")  # noqa: E731
    order = 0 if device == "cpu" else 1e-5  # a GPU adds some gradients up in another order each time
    torch.autograd.gradcheck(run, (q, k, v), eps=2**-6, atol=2e-3, rtol=2e-3, nondet_tol=order)


def test_a_thousand_lengths_compile_once(monkeypatch, device):
    compiled = []
    original = facet.torch.kernels.compile
    monkeypatch.setattr(facet.torch.kernels, "compile", lambda *a, **k: compiled.append(a) or original(*a, **k))
    spec = ALIBI.replace("learned_alibi", "thousand")
    for length in range(1, 1001):
        q = torch.randn(1, 4, length % 97 + 1, 24, device=device)
        attention(q, q, q, spec, slopes=torch.rand(4, device=device), window=length)
    assert len(compiled) == 1
