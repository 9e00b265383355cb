"""What a program captures: gradients, numbers that are params, kernels that are shared, and when anything is compiled."""

import functools

import pytest
import torch

import facet.torch
import reference
from facet.torch import and_masks, create_block_mask, flex_attention
from facet.torch.flex import programs
from facet.torch.flex.program import Sizes

B, H, L = 2, 4, 50


@pytest.fixture
def compiled(monkeypatch):
    """The texts that are compiled during the test, each once."""
    texts = []
    original = facet.torch.kernels.compile
    monkeypatch.setattr(facet.torch.kernels, "compile", lambda spec, **o: texts.append(spec.text) or original(spec, **o))
    return texts


def inputs(length=L, dim=24, grad=False):
    return [torch.randn(B, H, length, dim, requires_grad=grad) for _ in range(3)]


def text_of(score_mod=None, mask_mod=None, length=L):
    return programs.bind(score_mod, mask_mod, torch.device("cpu"), Sizes(B, H, length, length))


LEARNED = {
    "slopes": (lambda: [torch.rand(H)], lambda t: lambda s, b, h, q, k: s - t[h] * (q - k)),
    "relative bias": (lambda: [torch.randn(H, 2 * L - 1)], lambda t: lambda s, b, h, q, k: s + t[h, q - k + L - 1]),
    "pair bias": (lambda: [torch.randn(H, L, L)], lambda t: lambda s, b, h, q, k: s + t[h, q, k]),
    "bias of rows": (lambda: [torch.randn(B, L)], lambda t: lambda s, b, h, q, k: s * t[b, q]),
    "bias of columns": (lambda: [torch.randn(L)], lambda t: lambda s, b, h, q, k: s + torch.tanh(t[k])),
    "a number": (lambda: [torch.tensor(1.3)], lambda t: lambda s, b, h, q, k: s * t),
    "two tables": (lambda: [torch.rand(H), torch.randn(L)], lambda t, u: lambda s, b, h, q, k: s * t[h] + u[k] * u[q]),
    "rows multiplied": (lambda: [torch.randn(L, 8), torch.randn(L, 8)], lambda t, u: lambda s, b, h, q, k: s + (t[q] * u[k]).sum(-1)),
    "bf16 table": (lambda: [torch.randn(H, 2 * L - 1).bfloat16()], lambda t: lambda s, b, h, q, k: s + t[h, q - k + L - 1]),
    "f64 table": (lambda: [torch.rand(H).double()], lambda t: lambda s, b, h, q, k: s - t[h] * (q - k)),
    "a list of tables": (lambda: [torch.randn(H, L), torch.randn(H, L)], lambda *ts: lambda s, b, h, q, k: s + sum(t[h, k] for t in ts)),
    "strided table": (lambda: [torch.randn(L, H)], lambda t: lambda s, b, h, q, k: s + t.mT[h, k]),
}


@pytest.mark.parametrize("name", LEARNED)
def test_gradients_of_captured_tensors(name):
    make, program = LEARNED[name]
    tables = [table.requires_grad_() for table in make()]
    q, k, v = inputs(grad=True)
    mask = lambda b, h, q, k: q >= k  # noqa: E731
    o = flex_attention(q, k, v, program(*tables), create_block_mask(mask, None, None, L, L, "cpu"))
    d_o = torch.randn_like(o)
    o.backward(d_o)
    copies = [x.detach().double().requires_grad_() for x in (q, k, v, *tables)]
    expected, _, bound = reference.attention(*copies[:3], program(*copies[3:]), mask)
    expected.backward(d_o.double())
    reference.check(o.detach(), expected, bound, torch.float32)
    for found, copy in zip((q, k, v, *tables), copies):
        assert found.grad.dtype == found.dtype
        reference.check_gradient(found.grad, copy.grad, torch.bfloat16 if found.dtype == torch.bfloat16 else torch.float32)


def test_a_table_that_only_decides_has_no_gradient():
    limit = torch.full((H,), 5.0, requires_grad=True)
    q, k, v = inputs(grad=True)
    o = flex_attention(q, k, v, lambda s, b, h, q, k: torch.where(q - k > limit[h], s * 0.5, s))
    o.sum().backward()
    assert q.grad is not None and limit.grad is None


def window(size):
    return lambda b, h, q, k: (q >= k) & (q - k < size)


def test_changing_a_captured_number_compiles_nothing(compiled):
    q, k, v = inputs(dim=40)
    for size in (3, 5, 40):
        scale = size / 10

        def soften(s, b, h, q, k):
            return s * scale

        o = flex_attention(q, k, v, soften, create_block_mask(window(size), None, None, L, L, "cpu"))
        expected, _, bound = reference.attention(q, k, v, soften, window(size))
        reference.check(o, expected, bound, torch.float32)
    assert len(compiled) == 1


def test_a_number_that_divides_is_compiled_in_twice_at_most(compiled):
    q, k, v = inputs(dim=48)
    for size in (3, 5, 7, 11, 3):
        same = lambda b, h, q, k: q // size == k // size  # noqa: E731
        o = flex_attention(q, k, v, None, create_block_mask(same, None, None, L, L, "cpu"))
        expected, _, bound = reference.attention(q, k, v, None, same)
        reference.check(o, expected, bound, torch.float32)
    assert len(compiled) == 2 and "/ 3" in compiled[0] and "/ p0" in compiled[1]


def test_lengths_compile_nothing(compiled):
    for length in (1, 20, 50, 51, 200):
        document = torch.randint(0, 3, (B, length)).sort().values
        table = torch.randn(H, 2 * length - 1)
        q, k, v = inputs(length, 56)
        score = lambda s, b, h, q, k: s + table[h, q - k + length - 1]  # noqa: E731
        mask = lambda b, h, q, k: document[b, q] == document[b, k]  # noqa: E731
        o = flex_attention(q, k, v, score, create_block_mask(mask, None, None, length, length, "cpu"))
        expected, _, bound = reference.attention(q, k, v, score, mask)
        reference.check(o, expected, bound, torch.float32)
    assert len(compiled) <= 2  # a table of another size than the first: its extent becomes a param


def test_equal_programs_share_a_kernel(compiled):
    q, k, v = inputs(dim=64)

    def one(s, b, h, q_idx, kv_idx):
        return s + (q_idx - kv_idx) * 0.25

    class Other:
        def __init__(self):
            self.offset = lambda a, b: a - b

        def __call__(self, score, batch, head, row, column):
            return score + self.offset(row, column) * 0.25

    flex_attention(q, k, v, one)
    flex_attention(q, k, v, lambda s, b, h, i, j: s + 0.25 * (i - j))
    flex_attention(q, k, v, Other())
    flex_attention(q, k, v, functools.partial(lambda x, s, b, h, i, j: s + (i - j) * 0.25, None))
    assert len(compiled) == 1


def test_what_changed_is_seen():
    q, k, v = inputs()
    table, sizes = torch.zeros(L), {"size": 4}
    holder = type("Holder", (), {"weight": 1.0})()
    programs_seen = [
        (lambda s, b, h, q, k: s + table[k], lambda: table.copy_(torch.randn(L))),
        (lambda s, b, h, q, k: s * (k < sizes["size"]), lambda: sizes.update(size=20)),
        (lambda s, b, h, q, k: s * holder.weight, lambda: setattr(holder, "weight", 3.0)),
        (lambda s, b, h, q, k: s + torch.exp(table)[k], lambda: table.add_(1.0)),
        (lambda s, b, h, q, k: s * FACTOR, lambda: globals().update(FACTOR=2.5)),
    ]
    for score, change in programs_seen:
        for _ in range(2):
            o = flex_attention(q, k, v, score)
            expected, _, bound = reference.attention(q, k, v, score)
            reference.check(o, expected, bound, torch.float32)
            change()


FACTOR = 1.5


def test_numbers_that_decide_the_program(compiled):
    q, k, v = inputs(dim=72)
    for times in (1, 3):
        for is_causal in (False, True):
            def mask(b, h, q, k):
                kept = (q - k) % 2 == 0
                for i in range(times):
                    kept = kept | (q - k == 2 * i + 1)
                return kept & (q >= k) if is_causal else kept

            o = flex_attention(q, k, v, None, create_block_mask(mask, None, None, L, L, "cpu"))
            expected, _, bound = reference.attention(q, k, v, None, mask)
            reference.check(o, expected, bound, torch.float32)
    assert len(compiled) == 4


def test_what_the_score_drops_is_a_mask():
    bound = text_of(lambda s, b, h, q, k: torch.where(q >= k, s + 1, -float("inf")), lambda b, h, q, k: q - k < 9)
    assert bound.text.splitlines()[1:] == [
        "let x0 = (q_idx - kv_idx)" if "let x0" in bound.text else "score_mod = (score + 1)", "mask_mod = (((q_idx - kv_idx) < 9) and (q_idx >= kv_idx))"]


def test_texts_name_lengths_and_not_their_values():
    document, slopes, offset = torch.zeros(L, dtype=torch.int64), torch.zeros(H), torch.tensor(2)
    bound = text_of(lambda s, b, h, q, k: s + slopes[h] * (k + offset), lambda b, h, q, k: document[q] == document[k])
    assert "tensor t0 : f32[num_q_heads]" in bound.text and "tensor t1 : i64[kv_len]" in bound.text and "param p0 : i32" in bound.text
    assert bound.numbers == [2.0] and str(L) not in bound.text


def test_many_numbers_are_refused():
    numbers = [torch.tensor(float(i)) for i in range(17)]
    with pytest.raises(facet.torch.TraceError, match="captures 17 numbers: at most 16"):
        text_of(lambda s, b, h, q, k: functools.reduce(lambda x, y: x * y, numbers, s))


def test_masks_combine():
    document = torch.randint(0, 3, (L,)).sort().values
    q, k, v = inputs()
    mask = and_masks(window(9), lambda b, h, q, k: document[q] == document[k])
    o = flex_attention(q, k, v, None, create_block_mask(mask, None, None, L, L, "cpu"))
    expected, _, bound = reference.attention(q, k, v, None, mask)
    reference.check(o, expected, bound, torch.float32)
