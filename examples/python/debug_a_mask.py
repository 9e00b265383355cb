"""A mask that is slow, and why: `explain` says which tiles a mask leaves, and what keeps the others from being skipped.

Tokens attend within their group. Here the groups are dealt out in turn, so that every tile of 96 x 64 has some pair of one group;
sorted by group, most tiles are empty.
"""
import torch

import facet
from facet.torch import create_block_mask, flex_attention, flex_spec

length, groups = 4096, 64
dealt = torch.arange(length) % groups
sorted_ = torch.arange(length) // (length // groups)


def explain(group):
    q = torch.zeros(1, 1, length, 64)
    mask = create_block_mask(lambda b, h, q_idx, kv_idx: group[q_idx] == group[kv_idx], None, None, length, length, "cpu")
    spec, captured = flex_spec(q, q, q, None, mask)  # the program as Facet reads it
    print(spec)
    said = spec.explain(q_len=length, **captured)
    print(said)
    return said.tiles, flex_attention(q, q, q, block_mask=mask)


slow, _ = explain(dealt)
fast, _ = explain(sorted_)
print(f"tiles computed: {slow.share_of_work:.0%} when dealt out, {fast.share_of_work:.0%} when sorted")
assert slow.share_of_work == 1 and fast.share_of_work < 0.05

# A mistake, found by an element: `checked` looks for reads outside of what is captured before each call.
spec = facet.Spec("""
    attention off_by_one
    head_dim 64
    dtype    f32
    tensor   group : i32[kv_len]
    mask_mod = group[q_idx] == group[kv_idx + 1]
""")
kernel = facet.compile(spec, device="cpu", checked=True)
q = torch.zeros(1, 1, 100, 64)
try:
    kernel(q, q, q, group=torch.zeros(100, dtype=torch.int32))
    raise SystemExit("the read outside of the tensor was not found")
except facet.ArgumentError as error:
    print(error)
