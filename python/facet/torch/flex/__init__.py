"""FlexAttention's programs: Python functions of a score, traced to the spec language."""

from torch.nn.attention.flex_attention import AuxOutput, AuxRequest, and_masks, noop_mask, or_masks

from .api import FlexSpec, flex_attention, flex_spec
from .errors import TraceError
from .masks import BlockMask, create_block_mask
from .trace import trace_as

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "FlexSpec", "TraceError", "and_masks", "create_block_mask", "flex_attention", "flex_spec", "noop_mask", "or_masks",
           "trace_as"]
