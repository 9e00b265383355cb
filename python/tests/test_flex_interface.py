"""flex_attention's arguments, masks by block, what is refused, and torch.compile around it."""

import pytest
import torch
from torch.nn.attention import flex_attention as pytorch

import facet
import facet.torch
import reference
from facet.torch import AuxRequest, BlockMask, TraceError, create_block_mask, flex_attention, noop_mask, trace_as

B, H, L = 2, 4, 300


def inputs(length=L, heads=H, grad=False):
    return [torch.randn(B, heads, length, 16, requires_grad=grad) for _ in range(3)]


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def check(o, q, k, v, mask, score=None):
    expected, _, bound = reference.attention(q, k, v, score, mask)
    reference.check(o, expected, bound, torch.float32)


def test_a_block_mask_costs_nothing_and_knows_no_length():
    calls = []

    def mask(b, h, q, k):
        calls.append(1)
        return q >= k

    block_mask = create_block_mask(mask, None, None, 1 << 20, 1 << 20, "cpu")
    assert not calls and block_mask.shape == (1, 1, 1 << 20, 1 << 20) and "mask" in repr(block_mask)
    for length in (10, 300):
        q, k, v = inputs(length)
        check(flex_attention(q, k, v, block_mask=block_mask), q, k, v, causal)


def test_a_block_mask_has_what_pytorchs_has():
    ours, theirs = create_block_mask(causal, B, H, L, L, "cpu"), pytorch.create_block_mask(causal, B, H, L, L, "cpu")
    assert ours.sparsity() == theirs.sparsity() and torch.equal(ours.to_dense(), theirs.to_dense())
    assert torch.equal(ours.kv_num_blocks, theirs.kv_num_blocks) and torch.equal(ours[0].kv_indices, theirs[0].kv_indices)
    assert ours.BLOCK_SIZE == (128, 128) and ours.mask_mod is causal and isinstance(ours, BlockMask)
    with pytest.raises(AttributeError, match="no attribute 'sparse'"):
        ours.sparse


def test_a_block_mask_moves_without_what_it_captures():
    offset = torch.arange(B)

    def shifted(b, h, q, k):
        return q + 128 * offset[b] >= k

    there = create_block_mask(shifted, B, H, L, L, "cpu").to("meta")
    assert there.device.type == "meta" and there.kv_indices.is_meta and there.full_kv_num_blocks.is_meta
    assert torch.equal(there.to("cpu").kv_num_blocks, pytorch.create_block_mask(shifted, B, H, L, L, "cpu").kv_num_blocks)


def test_without_a_device_a_block_mask_is_where_the_machine_computes():
    block_mask = create_block_mask(causal, None, None, L, L)  # a PyTorch built for CUDA may be on a machine without a GPU
    assert block_mask.device.type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert block_mask.sparsity() == pytorch.create_block_mask(causal, None, None, L, L, "cpu").sparsity()


@pytest.mark.parametrize("mask", [causal, noop_mask, lambda b, h, q, k: (q + h * 7 - k).abs() < 40 + b])
def test_pytorchs_block_masks_are_taken(mask):
    q, k, v = inputs()
    block_mask = pytorch.create_block_mask(mask, B, H, L, L, "cpu", BLOCK_SIZE=64)
    check(flex_attention(q, k, v, block_mask=block_mask), q, k, v, mask)


@pytest.mark.parametrize("batch, heads", [(1, 1), (B, 1), (1, H), (B, H)])
@pytest.mark.parametrize("with_mask", [False, True])
def test_layouts_by_block(batch, heads, with_mask):
    q, k, v = inputs()
    blocks = torch.rand(batch, heads, 10, 10) < 0.4
    blocks[..., 0] = True
    full = blocks & (torch.rand(batch, heads, 10, 10) < 0.5)

    def ordered(dense):
        return dense.sum(-1, dtype=torch.int32), dense.int().argsort(dim=-1, descending=True, stable=True).int()

    block_mask = pytorch.BlockMask.from_kv_blocks(*ordered(blocks & ~full), *ordered(full), BLOCK_SIZE=32, seq_lengths=(L, L),
                                                  mask_mod=causal if with_mask else None)

    def kept(b, h, q, k):
        place = b if batch > 1 else 0, h if heads > 1 else 0, q // 32, k // 32
        return full[place] | blocks[place] & (causal(b, h, q, k) if with_mask else True)

    check(flex_attention(q, k, v, block_mask=block_mask), q, k, v, kept)


def test_rows_of_block_indices_may_be_short():
    q, k, v = inputs(256)
    partial = torch.ones(1, 1, 4, dtype=torch.int32), torch.arange(4, dtype=torch.int32).view(1, 1, 4, 1)
    full = torch.tensor([0, 0, 1, 2], dtype=torch.int32).view(1, 1, 4), torch.tensor([[0, 0], [0, 0], [3, 0], [1, 2]], dtype=torch.int32).view(1, 1, 4, 2)
    # Made without from_kv_blocks, which asks for tables of one width.
    block_mask = pytorch.BlockMask(seq_lengths=(256, 256), kv_num_blocks=partial[0], kv_indices=partial[1], full_kv_num_blocks=full[0],
                                   full_kv_indices=full[1], q_num_blocks=None, q_indices=None, full_q_num_blocks=None, full_q_indices=None,
                                   BLOCK_SIZE=(64, 64), mask_mod=causal)

    def kept(b, h, q, k):
        row, column = q // 64, k // 64
        return (row == column) & (q >= k) | (row == 2) & (column == 3) | (row == 3) & ((column == 1) | (column == 2))

    check(flex_attention(q, k, v, block_mask=block_mask), q, k, v, kept)


def test_block_indices_beyond_the_keys_are_refused():
    q, k, v = inputs(256)
    for index in (-1, 2):
        block_mask = pytorch.BlockMask.from_kv_blocks(torch.ones(1, 1, 2, dtype=torch.int32), torch.tensor([[0], [index]], dtype=torch.int32).view(1, 1, 2, 1),
                                                      BLOCK_SIZE=128, seq_lengths=(256, 256), compute_q_blocks=False)
        with pytest.raises(facet.ArgumentError, match=f"lists block {index} of the keys, and there are 2"):
            flex_attention(q, k, v, block_mask=block_mask)


@pytest.mark.parametrize("length", [100, 128, 512])
def test_pytorchs_block_mask_is_for_its_lengths(length):
    q, k, v = inputs(length)
    with pytest.raises(ValueError, match=f"created for .*256, 256.* got q_len={length}"):
        flex_attention(q, k, v, block_mask=pytorch.create_block_mask(causal, None, None, 256, 256, "cpu"))


def test_a_mask_of_everything_is_for_any_length():
    q, k, v = inputs()
    torch.testing.assert_close(flex_attention(q, k, v, block_mask=pytorch._create_empty_block_mask(q[:, :, :8], k[:, :, :8])), flex_attention(q, k, v))


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 0, 2, 3), (2, 0, 1, 3), (0, 2, 1, 3), (2, 1, 0, 3), (1, 2, 0, 3)])
def test_o_lies_in_memory_as_q_does(order):
    shape = [(B, H, 24, 16)[i] for i in order]
    q = torch.randn(shape).permute(*(order.index(i) for i in range(4)))
    k, v = torch.randn(B, H, 24, 16), torch.randn(B, H, 24, 24)
    o = flex_attention(q, k, v)
    by_stride = [sorted(range(4), key=lambda i: -x.stride(i)) for x in (q, o)]
    assert by_stride[0] == by_stride[1] == list(order) and o.shape == (B, H, 24, 24)
    check(o, q, k, v, None)


@pytest.mark.parametrize("size", [(1, H, 24, 16), (B, 1, 24, 16), (B, H, 1, 16)])
def test_o_of_a_repeated_q_is_contiguous(size):
    q, k, v = torch.randn(size).expand(B, H, 24, 16), torch.randn(B, H, 24, 16), torch.randn(B, H, 24, 16)
    o = flex_attention(q, k, v)
    assert o.is_contiguous()
    check(o, q, k, v, None)


def test_captured_tensors_elsewhere_are_refused():
    q, k, v = inputs(8)
    bias = torch.randn(H, device="meta")
    with pytest.raises(facet.ArgumentError, match=r"captured tensor, of shape \[4\], is on meta and query on cpu"):
        flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[h])


def test_a_sliced_block_mask_is_refused():
    q, k, v = inputs()
    with pytest.raises(RuntimeError, match="sliced BlockMask"):
        flex_attention(q, k, v, block_mask=pytorch.create_block_mask(causal, B, H, L, L, "cpu")[:1])


def test_what_it_returns():
    q, k, v = inputs(40)
    o = flex_attention(q, k, v)
    with_lse, lse = flex_attention(q, k, v, return_lse=True)
    with_aux, aux = flex_attention(q, k, v, return_aux=AuxRequest(lse=True))
    assert torch.equal(o, with_lse) and torch.equal(o, with_aux) and torch.equal(lse, aux.lse) and aux.max_scores is None
    with pytest.warns(UserWarning, match="ignores kernel_options"):
        assert torch.equal(o, flex_attention(q, k, v, kernel_options={"BLOCK_M": 64}))
    with torch.autocast("cpu", torch.bfloat16):
        assert flex_attention(q, k, v).dtype == torch.bfloat16


@pytest.mark.parametrize("change, message", [
    (dict(return_aux=AuxRequest(max_scores=True)), "max_scores"), (dict(return_aux=AuxRequest(lse=True), return_lse=True), "state one"),
    (dict(scale=-1.0), "finite and positive"), (dict(block_mask=causal), "block_mask is a function"), (dict(block_mask=3), "block_mask is a int"),
    (dict(key=torch.zeros(B, 2, 8, 16), value=torch.zeros(B, 2, 8, 16)), "Try setting enable_gqa=True"),
    (dict(key=torch.zeros(3, H, 8, 16), value=torch.zeros(3, H, 8, 16)), "same batch size"),
    (dict(key=torch.zeros(B, H, 8, 32)), "k has head dim 32 and q 16"),
])
def test_arguments_that_do_not_fit(change, message):
    q, k, v = inputs(8)
    with pytest.raises(facet.ArgumentError) as raised:
        flex_attention(**{"query": q, "key": k, "value": v, **change})
    assert message in str(raised.value)


TABLE = torch.randn(H, L)


def chained(s, b, h, q, k):
    return torch.where(0 <= q - k < 5, s, 0.0)


def branching(s, b, h, q, k):
    if q > k:
        return s
    return -s


@pytest.mark.parametrize("score, line, message", [
    (chained, "0 <= q - k < 5", "Python's `if`, `and`, `or`, `not` and chained comparisons"),
    (branching, "if q > k:", "write torch.where, &, | and ~"),
    (lambda s, b, h, q, k: torch.cumsum(s, 0), "torch.cumsum(s, 0)", "torch.cumsum is nothing that Facet can compute for each score"),
    (lambda s, b, h, q, k: s * q.item(), "q.item()", "item() of a number that only the kernel knows"),
    (lambda s, b, h, q, k: s * float(h), "float(h)", "float() of a number that only the kernel knows"),
    (lambda s, b, h, q, k: s + TABLE[h, q, k], "TABLE[h, q, k]", "3 indices of a tensor that has 2 dimensions"),
    (lambda s, b, h, q, k: s + TABLE[h, s], "TABLE[h, s]", "indexing by a floating-point number"),
    (lambda s, b, h, q, k: s.add_(1), "s.add_(1)", "changes a tensor in place"),
    (lambda s, b, h, q, k: s + TABLE[h, : q + 1].sum(), "q + 1", "bounds are known only in a kernel"),
    (lambda s, b, h, q, k: s.detach() * 2, "detach()", "detach the captured tensor before"),
    (lambda s, b, h, q, k: s + q * 2**40, "2**40", "does not fit an i32"),
    (lambda s, b, h, q, k: s + TABLE[h], None, "returns a tensor of shape [300]"),
    (lambda s, b, h, q, k: None, None, "returns None"),
    (lambda s, b, h, q, k: s + torch.ones(1, dtype=torch.complex64), "complex64", "is torch.complex64, which Facet does not have"),
])
def test_what_cannot_be_traced_names_the_line(score, line, message):
    q, k, v = inputs(8)
    with pytest.raises(TraceError) as raised:
        flex_attention(q, k, v, score)
    text = str(raised.value)
    assert message in text and (line is None or line in text and __file__ in text)


def test_errors_of_the_program_itself_pass():
    q, k, v = inputs(8)
    with pytest.raises(ZeroDivisionError):
        flex_attention(q, k, v, lambda s, b, h, q, k: s * (1 / 0))


def test_a_custom_operator_needs_a_stand_in():
    @torch.library.custom_op("facet_tests::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    q, k, v = inputs(8)
    score = lambda s, b, h, q, k: torch.ops.facet_tests.doubled(s)  # noqa: E731
    with pytest.raises(TraceError, match="facet_tests::doubled"):
        flex_attention(q, k, v, score)
    trace_as(torch.ops.facet_tests.doubled, lambda x: x + x)
    check(flex_attention(q, k, v, score), q, k, v, None, lambda s, b, h, q, k: s * 2)


def test_under_torch_compile():
    q, k, v = inputs(40, grad=True)
    slopes = torch.rand(H)
    score = lambda s, b, h, q, k: s - slopes[h] * (q - k).abs()  # noqa: E731
    block_mask = create_block_mask(causal, None, None, 40, 40, "cpu")
    check(torch.compile(flex_attention)(q, k, v, score, block_mask).detach(), q, k, v, causal, score)

    @torch.compile
    def layer(q, k, v):
        return flex_attention(q * 2, k, v, score, block_mask).sum() * 0.5

    found, = torch.autograd.grad(layer(q, k, v), q)
    expected, = torch.autograd.grad(flex_attention(q * 2, k, v, score, block_mask).sum() * 0.5, q)
    torch.testing.assert_close(found, expected)


def test_the_spec_of_a_program():
    q, k, v = inputs(200, grad=True)
    slopes, size = torch.rand(H, requires_grad=True), 30
    score = lambda s, b, h, q, k: s - slopes[h] * (q - k)  # noqa: E731
    block_mask = create_block_mask(lambda b, h, q, k: (q >= k) & (q - k < size), None, None, 200, 200, "cpu")
    spec, captured = facet.torch.flex_spec(q, k, v, score, block_mask)
    assert captured["t0"] is slopes and captured["p0"] == 30 and "tensor t0 : f32[num_q_heads] grad" in spec.text
    compiled = torch.compile(lambda q, k, v: facet.torch.attention(q, k, v, spec, **captured), fullgraph=True)
    assert torch.equal(compiled(q, k, v), flex_attention(q, k, v, score, block_mask))
    assert spec.explain(q_len=200, p0=size).tiles.counts["empty"] > 0


@pytest.mark.parametrize("dim", [16, 20])
def test_no_keys_and_no_queries(dim):
    q, k, v = torch.randn(B, H, 0, dim), torch.randn(B, H, 7, dim), torch.randn(B, H, 7, dim)
    assert flex_attention(q, k, v).shape == (B, H, 0, dim)
    o, lse = flex_attention(k, q, q, return_lse=True)
    assert (o == 0).all() and (lse == -torch.inf).all()
