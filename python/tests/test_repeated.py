"""Calls that repeat take a shorter way (facet.torch.repeated): to the same results, and only where nothing is lost by it."""

import concurrent.futures
import time

import pytest
import torch

import facet
import facet.torch
from facet.torch import create_block_mask, flex_attention, repeated

SPEC = "attention a\nhead_dim 16\nparam bend : f32 = 0.5\nscore_mod = score * bend\nmask_mod = q_idx >= kv_idx\n"


@pytest.fixture(autouse=True)
def forget():
    repeated._calls.clear()


def tensors(length=20, **options):
    return [torch.randn(2, 3, length, 16, **options) for _ in range(3)]


def slow(q, k, v, **more):
    """The same by the long way, which a returned lse takes."""
    return facet.torch.attention(q, k, v, SPEC, return_lse=True, **more)[0]


def is_known(q, k, v):
    with torch.no_grad():
        return repeated.call(SPEC, (), (), q, k, v) is not None


def test_other_memory_of_the_same_layout():
    for _ in range(3):
        q, k, v = tensors()
        assert torch.equal(facet.torch.attention(q, k, v, SPEC), slow(q, k, v))
    assert is_known(q, k, v) and repeated._calls.size == 1


@pytest.mark.parametrize("change", ["length", "strides", "dtype", "one strides"])
def test_another_layout_is_another_call(change):
    first = tensors()
    facet.torch.attention(*first, SPEC)
    q, k, v = {"length": lambda: tensors(21), "strides": lambda: [x.transpose(1, 2).contiguous().transpose(1, 2) for x in tensors()],
               "dtype": lambda: tensors(dtype=torch.bfloat16),
               "one strides": lambda: [*tensors()[:2], torch.randn(2, 3, 20, 32)[..., ::2]]}[change]()
    assert not is_known(q, k, v)
    for _ in range(2):
        o = facet.torch.attention(q, k, v, SPEC)
        assert torch.equal(o, slow(q, k, v))
        assert (o.stride(1) < o.stride(2)) == (q.stride(1) < q.stride(2))


def test_gradients_are_recorded_after_calls_without():
    q, k, v = tensors()
    facet.torch.attention(q, k, v, SPEC)
    q.requires_grad_()
    facet.torch.attention(q, k, v, SPEC).sum().backward()
    assert q.grad is not None and q.grad.abs().max() > 0
    with torch.no_grad():
        assert not facet.torch.attention(q, k, v, SPEC).requires_grad


def test_params_and_dropout_are_not_forgotten():
    q, k, v = tensors()
    facet.torch.attention(q, k, v, SPEC)
    assert torch.equal(facet.torch.attention(q, k, v, SPEC, bend=2.0), slow(q, k, v, bend=2.0))
    drops = SPEC + "dropout 0.5\n"
    torch.manual_seed(3)
    first, second = (facet.torch.attention(q, k, v, drops) for _ in range(2))
    assert not torch.equal(first, second)


def test_autocast_and_threads():
    q, k, v = tensors()
    facet.torch.attention(q, k, v, SPEC)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert facet.torch.attention(q, k, v, SPEC).dtype == torch.bfloat16
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        assert not is_known(q, k, v)
        assert torch.equal(facet.torch.attention(q, k, v, SPEC), slow(q, k, v))
        assert is_known(q, k, v)
    finally:
        torch.set_num_threads(threads)


def test_tensors_that_do_not_fit_are_still_refused():
    q, k, v = tensors()
    facet.torch.attention(q, k, v, SPEC)
    with pytest.raises(facet.ArgumentError, match="k is torch.float16"):
        facet.torch.attention(q, k.half(), v, SPEC)
    with pytest.raises(facet.ArgumentError):
        facet.torch.attention(q, k[:, :2], v, SPEC)


def test_numbers_that_a_program_captures():
    q, k, v = tensors()
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 20, 20, device="cpu")
    for bend in (0.5, 2.0, 0.5, 3.0):
        o = flex_attention(q, k, v, lambda score, b, h, q, k: score * bend, mask)
        assert torch.allclose(o, flex_attention(q, k, v, lambda score, b, h, q, k: score * bend, mask, return_lse=True)[0])
    assert repeated._calls.size == 3


def test_zeros_of_either_sign_and_nan_are_numbers_of_their_own():
    q, k, v = tensors()
    for zero in (0.0, -0.0):
        o = flex_attention(q, k, v, lambda score, b, h, q, k: score + torch.exp(1.0 / (score * 0.0 + zero)))
        assert torch.equal(o.isnan(), flex_attention(q, k, v, lambda score, b, h, q, k: score + torch.exp(1.0 / (score * 0.0 + zero)),
                                                     return_lse=True)[0].isnan())
    repeated._calls.clear()
    for number in (0.0, -0.0, float("nan"), -float("nan"), 0.0):
        flex_attention(q, k, v, lambda score, b, h, q, k: score + number)
    assert repeated._calls.size == 4  # by their bits; one came twice


def test_many_calls_do_not_fill_memory(monkeypatch):
    monkeypatch.setattr(repeated, "_MOST", 4)
    for length in range(1, 12):
        facet.torch.attention(*tensors(length), SPEC)
    assert repeated._calls.size <= 4


def test_without_the_table_of_functions_tensors_are_asked_for_their_attributes(monkeypatch):
    none = repeated.new_calls(None)
    monkeypatch.setattr(repeated, "_calls", none)
    for length in (20, 21):
        for _ in range(2):
            q, k, v = tensors(length)
            assert torch.equal(facet.torch.attention(q, k, v, SPEC), slow(q, k, v))
    assert none.size == 2 and is_known(*tensors(20)) and not is_known(*tensors(20, dtype=torch.bfloat16))
    assert not is_known(*[x.to("meta") for x in tensors(20)])
    assert not is_known(*[x.to_sparse() for x in tensors(20)])


def test_tensors_without_memory_are_not_known():
    facet.torch.attention(*tensors(), SPEC)
    assert not is_known(*[x.to("meta") for x in tensors()])
    assert not is_known(*[x.to_sparse() for x in tensors()])
    assert not is_known(*[x.flatten() for x in tensors()])


def test_memory_without_elements():
    q, k, v = torch.randn(1, 1, 0, 16), torch.randn(1, 1, 5, 16), torch.randn(1, 1, 5, 16)
    for _ in range(2):
        assert facet.torch.attention(q, k, v, SPEC).shape == (1, 1, 0, 16)


CAPTURED = """attention a
head_dim 16
param bend : f32 = 0.5
tensor slope : f32[num_q_heads]
tensor bias : f32[num_q_heads, q_len, kv_len] grad
score_mod = score * bend + slope[h] * (kv_idx - q_idx) + bias[h, q_idx, kv_idx]
"""


def captured(length=20):
    return {"slope": torch.randn(3), "bias": torch.randn(3, length, length)}


def by_long_way(q, k, v, **more):
    return facet.torch.attention(q, k, v, CAPTURED, return_lse=True, **more)[0]


def test_captured_tensors_repeat_with_other_memory():
    for _ in range(3):
        q, k, v = tensors()
        given = captured()
        assert torch.equal(facet.torch.attention(q, k, v, CAPTURED, **given), by_long_way(q, k, v, **given))
    assert repeated._calls.size == 1
    assert repeated.call(CAPTURED, tuple(given), tuple(given.values()), q, k, v) is not None
    other = {"bias": given["bias"], "slope": given["slope"], "bend": 2.0}
    for _ in range(2):
        assert torch.equal(facet.torch.attention(q, k, v, CAPTURED, **other), by_long_way(q, k, v, **other))
        assert torch.equal(facet.torch.attention(q, k, v, CAPTURED, captured=given, bend=2), by_long_way(q, k, v, **other))
    assert repeated._calls.size == 3  # in the order that the names came


def test_captured_values_that_do_not_fit_are_still_refused():
    q, k, v = tensors()
    given = captured()
    facet.torch.attention(q, k, v, CAPTURED, **given, bend=0.25)
    for wrong, message in (({"slope": torch.randn(4)}, "slope"), ({"slope": torch.randn(3).double()}, "float64"), ({"slope": 0.5}, "slope"),
                           ({"bias": given["bias"][:, :19]}, "bias"), ({"bend": "much"}, ""), ({"bow": 0.25}, "bow")):
        with pytest.raises((facet.ArgumentError, ValueError), match=message):
            facet.torch.attention(q, k, v, CAPTURED, **{**given, "bend": 0.25, **wrong})
    with pytest.raises(facet.ArgumentError, match="slope"):  # a number and a tensor have changed places
        facet.torch.attention(q, k, v, CAPTURED, slope=0.25, bias=given["bias"], bend=given["slope"])


def test_captured_tensors_keep_their_gradients():
    q, k, v = tensors()
    given = captured()
    facet.torch.attention(q, k, v, CAPTURED, **given)
    given["bias"].requires_grad_()
    facet.torch.attention(q, k, v, CAPTURED, **given).sum().backward()
    assert given["bias"].grad is not None and given["bias"].grad.abs().max() > 0
    table = torch.nn.Parameter(captured()["bias"])
    with torch.no_grad():
        for _ in range(2):
            o = facet.torch.attention(q, k, v, CAPTURED, slope=given["slope"], bias=table)
            assert torch.equal(o, by_long_way(q, k, v, slope=given["slope"], bias=table))
    assert facet.torch.attention(q, k, v, CAPTURED, slope=given["slope"], bias=table).requires_grad


def test_what_is_read_or_copied_at_each_call_is_not_known():
    q, k, v = tensors()
    given, bend = captured(), torch.tensor(0.25)
    for value in (0.25, 4.0):
        bend.fill_(value)
        assert torch.equal(facet.torch.attention(q, k, v, CAPTURED, **given, bend=bend), by_long_way(q, k, v, **given, bend=value))
    strided = {**given, "bias": torch.randn(3, 20, 40)[..., ::2]}
    for _ in range(2):
        assert torch.equal(facet.torch.attention(q, k, v, CAPTURED, **strided), by_long_way(q, k, v, **strided))
    assert repeated._calls.size == 0


def test_one_tensor_under_two_names():
    spec = CAPTURED.replace("slope[h] *", "(slope[h] + other[h]) *").replace("tensor slope", "tensor other : f32[num_q_heads]\ntensor slope")
    q, k, v = tensors()
    given = captured()
    for other in (given["slope"], torch.randn(3)):
        o = facet.torch.attention(q, k, v, spec, **given, other=other)
        assert torch.equal(o, facet.torch.attention(q, k, v, spec, **given, other=other, return_lse=True)[0])


def test_tensors_that_a_program_captures():
    q, k, v = tensors()
    for _ in range(3):
        slope, bias = captured().values()
        for bend in (0.5, 2.0):
            def score_mod(score, b, h, q, k):
                return score * bend + slope[h] * (k - q) + bias[h, q, k]
            assert torch.equal(flex_attention(q, k, v, score_mod), flex_attention(q, k, v, score_mod, return_lse=True)[0])
    assert repeated._calls.size == 2


@pytest.mark.parametrize("make", [
    lambda: torch.randn(2, 3, 20, 16), lambda: torch.randn(2, 20, 3, 16).transpose(1, 2), lambda: torch.randn(3, 2, 20, 16).transpose(0, 1),
    lambda: torch.randn(2, 3, 20, 32)[..., :16], lambda: torch.randn(2, 3, 1, 16).expand(2, 3, 20, 16), lambda: torch.randn(1, 3, 20, 16)[:, :1]])
@pytest.mark.parametrize("head_dim_v", [16, 24])
def test_o_lies_as_after_the_long_way(make, head_dim_v):
    q = make()
    k = torch.randn(q.shape)
    v = torch.randn(*q.shape[:3], head_dim_v)
    long = slow(q, k, v)
    for _ in range(2):
        o = facet.torch.attention(q, k, v, SPEC)
        assert o.shape == long.shape and o.stride() == long.stride() and torch.equal(o, long)


def test_a_call_is_remembered_without_memory_of_its_size(monkeypatch):
    made, empty_like = [], torch.empty_like
    monkeypatch.setattr(torch, "empty_like", lambda *given, **options: made.append(empty_like(*given, **options)) or made[-1])
    facet.torch.attention(*tensors(), SPEC)
    assert repeated._calls.size == 1 and all(tensor.device.type == "meta" for tensor in made)


def test_calls_may_be_forgotten_while_others_compute():
    def run(seed):
        made = torch.Generator().manual_seed(seed)
        q, k, v = (torch.randn(2, 3, 200, 16, generator=made) for _ in range(3))
        given = {"slope": torch.randn(3, generator=made), "bias": torch.randn(3, 200, 200, generator=made)}
        expected = by_long_way(q, k, v, **given)
        for _ in range(30):
            assert torch.equal(facet.torch.attention(q, k, v, CAPTURED, **given), expected)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(run, seed) for seed in range(4)]
        while not all(each.done() for each in runs):
            repeated._calls.clear()
            time.sleep(0.001)
        for each in runs:
            each.result()
