"""Documents of different lengths, packed into one row, as a program of FlexAttention: only the import is another.

The mask costs nothing to make, and a batch with other lengths compiles nothing.
"""
import torch

from facet.torch import and_masks, attention, create_block_mask, flex_attention


def document_mask(lengths):
    document = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))

    def same_document(b, h, q_idx, kv_idx):
        return document[q_idx] == document[kv_idx]

    return same_document


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


torch.manual_seed(0)
for lengths in ([200, 56, 300], [10, 20, 30, 40], [999]):
    total = sum(lengths)
    q, k, v = (torch.randn(1, 4, total, 64) for _ in range(3))
    mask = create_block_mask(and_masks(causal, document_mask(lengths)), None, None, total, total, "cpu")
    packed = flex_attention(q, k, v, block_mask=mask)

    # Each document alone, one after the other.
    alone, begin = [], 0
    for length in lengths:
        part = [x[:, :, begin:begin + length] for x in (q, k, v)]
        alone.append(attention(*part, "attention causal\nmask_mod = q_idx >= kv_idx"))
        begin += length
    difference = (packed - torch.cat(alone, 2)).abs().max().item()
    print(f"{len(lengths)} documents, {total:>3} tokens: packed and alone differ by {difference:.1e}")
    assert difference < 1e-5
