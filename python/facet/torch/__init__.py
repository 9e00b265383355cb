"""Facet for PyTorch: attention from a spec, and FlexAttention's programs."""

from .attention import attention
from .flex import AuxOutput, AuxRequest, BlockMask, TraceError, and_masks, create_block_mask, flex_attention, noop_mask, or_masks, trace_as

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "TraceError", "and_masks", "attention", "create_block_mask", "flex_attention", "noop_mask",
    "or_masks", "trace_as",
]
