"""Specs, and kernels called with arrays of NumPy and of others."""

import pickle
import threading

import ml_dtypes
import numpy as np
import pytest
import torch

import facet

WINDOW = """
    attention window
    head_dim 32
    dtype    f32
    param  window : i32 = 256
    param  cap    : f32 = 1.0
    tensor slopes : f32[num_q_heads] grad
    score_mod = cap * score - slopes[h] * (q_idx - kv_idx)
    mask_mod  = q_idx >= kv_idx and q_idx - kv_idx < window
"""


def expected(q, k, v, slopes, window, cap=1.0):
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1).astype(np.float64) for x in (k, v))
    distance = np.arange(q.shape[2])[:, None] - np.arange(k.shape[2])
    logits = cap * (q.astype(np.float64) @ k.swapaxes(-1, -2)) / np.sqrt(q.shape[3]) - slopes[:, None, None] * distance
    logits = np.where((distance >= 0) & (distance < window), logits, -np.inf)
    largest = logits.max(-1, keepdims=True)
    p = np.exp(logits - largest)
    return p / p.sum(-1, keepdims=True) @ v, (np.log(p.sum(-1, keepdims=True)) + largest)[..., 0]


def inputs(length=70, heads=4, kv_heads=2, dim=32):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, h, length, dim)).astype(np.float32) for h in (heads, kv_heads, kv_heads))
    return q, k, v, np.linspace(0.1, 0.4, heads, dtype=np.float32)


@pytest.fixture(scope="module")
def kernel():
    return facet.compile(facet.Spec(WINDOW), device="cpu", backward=True)


def test_spec_says_what_it_holds():
    spec = facet.Spec(WINDOW)
    assert (spec.name, spec.head_dim, spec.head_dim_v, spec.dtype) == ("window", 32, 32, "f32")
    assert spec.params == (("window", "i32", 256, False), ("cap", "f32", 1.0, False))
    assert spec.tensors == (("slopes", "f32", ["num_q_heads"], True),)
    assert not spec.has_dropout and not spec.has_sink and spec.warnings == ()
    assert facet.Spec(spec.text) == spec and hash(facet.Spec(spec.text)) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert spec.with_head_dim(64).with_dtype("bf16").dtype == "bf16"
    assert facet.Spec("attention a\nmask_mod = true").warnings


def test_spec_from_parts_and_from_a_file(tmp_path):
    built = facet.Spec.build(
        "window", head_dim=32, dtype="f32", params={"window": 256, "cap": "f32 = 1.0"}, tensors={"slopes": "f32[num_q_heads] grad"},
        lets={"far(x)": "x >= window"}, score_mod="cap * score - slopes[h] * (q_idx - kv_idx)",
        mask_mod="q_idx >= kv_idx and not far(q_idx - kv_idx)")
    assert built.params == facet.Spec(WINDOW).params and built.tensors == facet.Spec(WINDOW).tensors
    (tmp_path / "x.fa").write_text(built.text)
    assert facet.load(tmp_path / "x.fa") == built


def test_wrong_specs_raise_every_finding(tmp_path):
    with pytest.raises(facet.SpecError) as raised:
        facet.Spec("attention a\nmask_mod = q_idx >= kv\nscore_mod = scor", "a.fa")
    first, second = raised.value.diagnostics
    assert (first.file, first.line, first.column, first.severity) == ("a.fa", 2, 21, "error")
    assert first.message == "unknown name 'kv'; did you mean 'kv_idx'?" and "^~" in first.text and second.line == 3
    assert isinstance(raised.value, ValueError)
    with pytest.raises(facet.SpecError, match="missing.fa"):
        facet.load(tmp_path / "missing.fa")


@pytest.mark.parametrize("length", [1, 70, 200])
def test_numpy(kernel, length):
    q, k, v, slopes = inputs(length)
    o, lse = kernel(q, k, v, slopes=slopes, window=20, cap=0.5, return_lse=True)
    assert isinstance(o, np.ndarray) and o.dtype == np.float32
    expected_o, expected_lse = expected(q, k, v, slopes, 20, 0.5)
    np.testing.assert_allclose(o, expected_o, atol=2e-6)
    np.testing.assert_allclose(lse, expected_lse, atol=2e-6)


def test_bound_names_and_an_array_to_write(kernel):
    q, k, v, slopes = inputs()
    bound = kernel.bind(slopes=slopes, window=20)
    out = np.empty_like(q)
    assert bound(q, k, v, out=out) is out
    np.testing.assert_allclose(out, expected(q, k, v, slopes, 20)[0], atol=2e-6)
    slopes[:] = 0  # the binding keeps the memory, not the numbers
    np.testing.assert_allclose(bound(q, k, v), expected(q, k, v, slopes, 20)[0], atol=2e-6)


def test_other_layouts_and_libraries(kernel):
    q, k, v, slopes = inputs()
    o = kernel(q, k, v, slopes=slopes)
    by_rows = [np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2) for x in (q, k, v)]
    np.testing.assert_array_equal(kernel(*by_rows, slopes=slopes), o)
    as_torch = kernel(*map(torch.from_numpy, (q, k, v)), slopes=torch.from_numpy(slopes))
    assert isinstance(as_torch, torch.Tensor)
    np.testing.assert_array_equal(as_torch.numpy(), o)


def test_bf16_of_torch_and_of_ml_dtypes():
    kernel = facet.compile(facet.Spec(WINDOW).with_dtype("bf16"), device="cpu")
    q, k, v, slopes = inputs()
    halves = [torch.from_numpy(x).bfloat16() for x in (q, k, v)]
    o = kernel(*halves, slopes=slopes)
    assert o.dtype == torch.bfloat16
    arrays = [x.view(torch.uint16).numpy().view(ml_dtypes.bfloat16) for x in halves]
    np.testing.assert_array_equal(kernel(*arrays, slopes=slopes).view(np.uint16), o.view(torch.uint16).numpy())


def test_backward(kernel):
    q, k, v, slopes = inputs()
    o, lse = kernel(q, k, v, slopes=slopes, window=20, return_lse=True)
    d_o = np.random.default_rng(1).standard_normal(o.shape).astype(np.float32)
    gradients = kernel.backward(q, k, v, o, lse, d_o, slopes=slopes, window=20)
    assert gradients.q.shape == q.shape and gradients.k.shape == k.shape and list(gradients.captured) == ["slopes"]
    step = 1e-4
    for h in range(4):
        ahead, behind = slopes.astype(np.float64), slopes.astype(np.float64)
        ahead[h] += step
        behind[h] -= step
        change = (expected(q, k, v, ahead, 20)[0] - expected(q, k, v, behind, 20)[0]) / (2 * step)
        assert gradients.captured["slopes"][h] == pytest.approx((change * d_o).sum(), rel=1e-4)


@pytest.mark.parametrize("change, message", [
    ({"slopes": None}, "tensor 'slopes' is a NoneType"),
    ({"windw": 3}, "'windw' is neither a tensor nor a param of the spec: it has slopes, window, cap"),
    ({"window": 1.5}, "param 'window' is an i32: pass an int"),
    ({"window": 2**40}, "param 'window' does not fit an i32"),
    ({"slopes": np.zeros(3, np.float32)}, "tensor 'slopes' has shape[0] = 3, in this call num_q_heads is 4"),
    ({"slopes": np.zeros(8, np.float32)[::2]}, "tensor 'slopes' is not contiguous"),
    ({"slopes": np.zeros(4)}, "tensor 'slopes': an array of DLPack's type 2 with 64 bits"),
])
def test_captured_values_that_do_not_fit(kernel, change, message):
    q, k, v, slopes = inputs()
    with pytest.raises(facet.ArgumentError) as raised:
        kernel(q, k, v, **{"slopes": slopes, **change})
    assert message in str(raised.value)


def test_arrays_that_do_not_fit(kernel):
    q, k, v, slopes = inputs()
    for arrays, message in [
        ((q[0], k, v), "q has 3 dimensions"), ((q, k[..., :16], v), "k.shape[3] (dim) is 16"), ((q, 3, v), "k is a int: pass an array"),
        ((q.astype(np.float16), k, v), "q has dtype f16, the kernel takes f32"),
        ((torch.from_numpy(q).requires_grad_(), k, v), "q requires a gradient, which a kernel knows nothing of: use facet.torch.attention"),
    ]:
        with pytest.raises(facet.ArgumentError) as raised:
            kernel(*arrays, slopes=slopes)
        assert message in str(raised.value)
    with pytest.raises(facet.ArgumentError, match="tensor 'slopes' is missing: pass slopes=, f32\\[num_q_heads\\]"):
        kernel(q, k, v)


def test_compile_says_what_it_cannot():
    with pytest.raises(facet.ArgumentError, match="no device 'tpu'"):
        facet.compile("attention a", device="tpu")
    with pytest.raises(facet.ArgumentError, match="tune is 'often'"):
        facet.compile("attention a", tune="often")
    if not torch.cuda.is_available():
        with pytest.raises(facet.DeviceError):
            facet.compile("attention a", device="cuda")
    with pytest.raises(facet.Error, match="tile_q"):
        facet.compile("attention a", device="cpu", plan="tile_q=7")
    with pytest.raises(facet.ArgumentError, match=r"'keys\(tile_x=1\)'.* no field 'tile_x'"):
        facet.compile("attention a", device="cpu", backward=True, backward_plan="keys(tile_x=1)")


def test_a_kernel_says_its_plans():
    kernel = facet.compile("attention a", device="cpu")
    assert kernel.plans == (facet.KernelPlan("every call", kernel.plan),)


def test_times_and_caches():
    spec = facet.Spec(WINDOW.replace("attention window", "attention timed"))
    first, second = facet.compile(spec, device="cpu").times, facet.compile(spec, device="cpu").times
    assert first.source in ("compiled", "disk") and second.source == "memory" and first.total > second.total > 0


def test_threads_share_a_kernel(kernel):
    q, k, v, slopes = inputs(150)
    alone = kernel(q, k, v, slopes=slopes)
    results = [None] * 8

    def work(i):
        results[i] = [kernel(q, k, v, slopes=slopes) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(o, alone) for result in results for o in result)


DOCUMENT = """
    attention document
    head_dim 64
    tensor document : i32[kv_len] = i0 / 100
    mask_mod = document[q_idx] == document[kv_idx]
"""


def test_explanations():
    spec = facet.Spec(DOCUMENT)
    said = facet.compile(spec, device="cpu").explain()
    assert said.tiles is None and "mask_mod: depends on {q, kv}" in said.facts and said.plan.startswith("host") and said.plan in str(said)
    assert said.clamped == (("document", 0, 5, 21),)
    assert spec.explain("a100").plan.startswith("sm80")
    tiles = spec.explain(q_len=1000).tiles
    assert sum(tiles.counts.values()) == -(-1000 // 96) * -(-1000 // 64) and tiles.exact and 0 < tiles.share_of_work < 0.5
    one = spec.explain(q_len=1000, document=np.zeros(1000, np.int32)).tiles
    assert one.counts["empty"] == 0 and one.share_of_work == 1
    assert "because document[q_idx] == document[kv_idx] for all" in str(tiles) and tiles.svg.startswith("<")
    assert "<svg" in spec.explain(q_len=1000)._repr_html_()
    with pytest.raises(facet.ArgumentError, match="contiguous i32\\[1000\\]"):
        spec.explain(q_len=1000, document=np.zeros(999, np.int32))
    with pytest.raises(facet.ArgumentError, match="'documents' is neither"):
        spec.explain(q_len=1000, documents=1)
    with pytest.raises(facet.Error, match="h100"):
        spec.explain("z80")
