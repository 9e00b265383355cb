"""FlexAttention's programs: Python functions of a score, traced to the spec language."""

from torch.nn.attention.flex_attention import AuxOutput, AuxRequest, and_masks, noop_mask, or_masks

from .api import flex_attention
from .errors import TraceError
from .masks import BlockMask, create_block_mask
from .trace import trace_as

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "TraceError", "and_masks", "create_block_mask", "flex_attention", "noop_mask", "or_masks",
           "trace_as"]
