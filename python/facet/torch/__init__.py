"""Facet for PyTorch: attention from a spec, and FlexAttention's programs."""

from .attention import attention
from .flex import (
    AuxOutput,
    AuxRequest,
    BlockMask,
    FlexSpec,
    TraceError,
    and_masks,
    create_block_mask,
    flex_attention,
    flex_spec,
    noop_mask,
    or_masks,
    trace_as,
)

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexSpec", "TraceError", "and_masks", "attention", "create_block_mask",
    "flex_attention", "flex_spec", "noop_mask", "or_masks", "trace_as",
]
