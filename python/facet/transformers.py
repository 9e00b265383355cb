"""Facet as an attention implementation of Hugging Face's transformers (5.0 or later).

    import facet.transformers

    facet.transformers.register()
    model = AutoModelForCausalLM.from_pretrained(..., attn_implementation="facet")

The masks that models make (causal, sliding, chunked, prefix, packed documents, padding) are functions of two positions; Facet
compiles these, so that no mask tensor is made and no tile outside of them is computed.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Tuple

import torch
from torch import Tensor

from .errors import ArgumentError
from .torch import BlockMask, and_masks, create_block_mask, flex_attention


def register(name: str = "facet") -> None:
    """Makes `attn_implementation=name` known to transformers."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(name, attention_forward)
    AttentionMaskInterface.register(name, mask)


def mask(batch_size: int, q_length: int, kv_length: int, q_offset: int = 0, kv_offset: int = 0, mask_function: Optional[Callable] = None,
         attention_mask: Optional[Tensor] = None, device: Any = "cpu", **_: Any) -> BlockMask:
    """What transformers calls to make a mask, and passes to `attention_forward`. Nothing is computed."""
    from transformers import masking_utils

    function: Callable = mask_function or masking_utils.causal_mask_function
    padding = masking_utils.prepare_padding_mask(attention_mask, kv_length, kv_offset)
    if padding is not None:
        function = and_masks(function, masking_utils.padding_mask_function(padding))
    function = masking_utils.add_offsets_to_mask_function(function, q_offset, kv_offset)
    return create_block_mask(function, batch_size, None, q_length, kv_length, device)


def attention_forward(module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, scaling: Optional[float] = None,
                      dropout: float = 0.0, softcap: Optional[float] = None, s_aux: Optional[Tensor] = None,
                      position_bias: Optional[Tensor] = None, is_causal: Optional[bool] = None, **_: Any) -> Tuple[Tensor, None]:
    """Attention of one layer: o [batch, q_len, num_q_heads, head_dim_v], and no probabilities.

    query, key, value are [batch, heads, length, head_dim]; key and value may have fewer heads. attention_mask is what `mask`
    returned, a tensor [batch or 1, heads or 1, q_len, kv_len] (bool, or added to the scores), or none. Dropout is refused.
    """
    if dropout:
        raise ArgumentError(f"attn_implementation='facet' has no dropout, and the layer asks for {dropout}: set attention_dropout to 0")
    terms = [] if position_bias is None else [_full(position_bias)]
    block_mask = attention_mask
    if isinstance(attention_mask, Tensor):
        block_mask = None
        if attention_mask.dtype == torch.bool:
            kept = _full(attention_mask)
            block_mask = create_block_mask(lambda b, h, q_idx, kv_idx: kept(b, h, q_idx, kv_idx), None, None, 1, 1, query.device)
        else:
            terms.append(_full(attention_mask))
    elif attention_mask is None and query.shape[2] > 1 and (getattr(module, "is_causal", True) if is_causal is None else is_causal):
        block_mask = create_block_mask(_causal, None, None, 1, 1, query.device)

    def score_mod(score, b, h, q_idx, kv_idx):
        if softcap is not None:
            score = softcap * torch.tanh(score / softcap)
        for term in terms:
            score = score + term(b, h, q_idx, kv_idx)
        return score

    o, lse = flex_attention(query, key, value, score_mod if terms or softcap is not None else None, block_mask, scaling,
                            query.shape[1] != key.shape[1], return_lse=True)
    if s_aux is not None:  # a sink a head: one more logit, which takes its share of each row
        o = o * torch.sigmoid(lse - s_aux.to(lse).view(1, -1, 1))[..., None].to(o.dtype)
    return o.transpose(1, 2).contiguous(), None


def _causal(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return q_idx >= kv_idx


def _full(tensor: Tensor) -> Callable:
    """A tensor of every pair as a function; of dimensions of 1 the one element stands for all."""
    by_batch, by_head = tensor.shape[0] > 1, tensor.shape[1] > 1

    def element(b, h, q_idx, kv_idx):
        return tensor[b if by_batch else 0, h if by_head else 0, q_idx, kv_idx]

    return element
