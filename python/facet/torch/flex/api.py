"""flex_attention(): FlexAttention's programs on Facet."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, Literal, NamedTuple, Optional, Tuple, Union, overload

import torch
from torch import Tensor
from torch._compile import _disable_dynamo  # torch.compiler.disable, without importing the compiler here
from torch.nn import functional
from torch.nn.attention.flex_attention import AuxOutput, AuxRequest

from ...errors import ArgumentError
from ...spec import Spec
from .. import kernels, repeated, run
from ..attention import autocast, check_tensors
from ..function import attend
from . import programs
from .masks import mask_mod_of
from .program import Bound, Sizes


@overload
def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Optional[Callable[..., Tensor]] = ..., block_mask: Any = ...,
                   scale: Optional[float] = ..., enable_gqa: bool = ..., return_lse: Literal[False] = ...,
                   kernel_options: Optional[dict] = ..., *, return_aux: None = ...) -> Tensor: ...
@overload
def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Optional[Callable[..., Tensor]] = ..., block_mask: Any = ...,
                   scale: Optional[float] = ..., enable_gqa: bool = ..., *, return_lse: Literal[True],
                   kernel_options: Optional[dict] = ..., return_aux: None = ...) -> Tuple[Tensor, Tensor]: ...
@overload
def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Optional[Callable[..., Tensor]] = ..., block_mask: Any = ...,
                   scale: Optional[float] = ..., enable_gqa: bool = ..., return_lse: Literal[False] = ...,
                   kernel_options: Optional[dict] = ..., *, return_aux: AuxRequest) -> Tuple[Tensor, AuxOutput]: ...
@overload
def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Optional[Callable[..., Tensor]] = ..., block_mask: Any = ...,
                   scale: Optional[float] = ..., enable_gqa: bool = ..., return_lse: bool = ..., kernel_options: Optional[dict] = ...,
                   *, return_aux: Optional[AuxRequest] = ...) -> Union[Tensor, Tuple[Tensor, Tensor], Tuple[Tensor, AuxOutput]]: ...
def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Optional[Callable[..., Tensor]] = None,
    block_mask: Any = None,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Optional[dict] = None,
    *,
    return_aux: Optional[AuxRequest] = None,
) -> Union[Tensor, Tuple[Tensor, Tensor], Tuple[Tensor, AuxOutput]]:
    """torch.nn.attention.flex_attention.flex_attention, by Facet's kernels.

    query       [batch, num_q_heads, q_len, head_dim] in float32, bfloat16 or float16
    key         [batch or 1, num_kv_heads, kv_len, head_dim]
    value       [batch or 1, num_kv_heads, kv_len, head_dim_v]
    score_mod   (score, b, h, q_idx, kv_idx) -> score; it is called once, to be traced
    block_mask  what create_block_mask returned, PyTorch's or Facet's: either serves
    scale       the factor on the scores; 1 / sqrt(head_dim) by default
    enable_gqa  must be set where num_q_heads is another multiple of num_kv_heads than 1, as PyTorch asks
    return_lse  returns (output, lse), lse [batch, num_q_heads, q_len] in float32, the natural logarithm
    return_aux  AuxRequest(lse=True) returns (output, AuxOutput); max_scores is refused
    kernel_options  are those of PyTorch's kernels: ignored, with a warning

    Both functions may use the operators and elementwise functions of PyTorch, torch.where, and tensors and numbers that they
    capture; tensors that require gradients get them. What cannot be traced raises TraceError, which names the line and the
    operation. docs/python.md says what is traced and what is compiled when.
    """
    run_it = _left_alone if torch.compiler.is_dynamo_compiling() else _flex_attention
    return run_it(query, key, value, score_mod, block_mask, scale, enable_gqa, return_lse, kernel_options, return_aux)


@_disable_dynamo  # the functions are traced by Facet: torch.compile leaves this call alone
def _left_alone(*arguments: Any) -> Any:
    return _flex_attention(*arguments)


def _flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Optional[Callable], block_mask: Any, scale: Optional[float],
                    enable_gqa: bool, return_lse: bool, kernel_options: Optional[dict], return_aux: Optional[AuxRequest]) -> Any:
    query, key, value = autocast(query, key, value)
    check_tensors(query, key, value)
    _check_heads(query, key, enable_gqa)
    if return_lse and return_aux is not None:
        raise ArgumentError("return_lse and return_aux: state one, return_aux=AuxRequest(lse=True)")
    if return_aux is not None and return_aux.max_scores:
        raise ArgumentError("return_aux asks for max_scores, which Facet's kernels do not keep: ask for lse")
    if kernel_options:
        warnings.warn("facet.torch.flex_attention ignores kernel_options: they are those of PyTorch's kernels", stacklevel=3)
    if key.shape[0] == 1 != query.shape[0]:
        key, value = key.expand(query.shape[0], -1, -1, -1), value.expand(query.shape[0], -1, -1, -1)
    bound, text = _traced(query, key, score_mod, block_mask, scale)

    values = (*bound.numbers, *bound.tensors)
    may_repeat = not (return_lse or return_aux or bound.scalars)
    if may_repeat and (known := repeated.call(text, (), values, query, key, value)) is not None:
        return known
    head_dim_v = value.shape[3]
    query, key, value = _padded(query), _padded(key), _padded(value)
    fitted = kernels.fitted(text, query.shape[3], value.shape[3], query.dtype)
    call = run.Call(fitted.text, bound.scalar_params, bound.numbers, None)
    o, lse = attend(call, query, key, value, bound.tensors, bound.scalars, None)
    if o.shape[3] != head_dim_v:
        o = o[..., :head_dim_v]
    elif may_repeat:
        repeated.remember(text, fitted, (), values, bound.tensors, bound.numbers, query, key, value, o)
    if return_aux is not None:
        return o, AuxOutput(lse=lse if return_aux.lse else None, max_scores=None)
    return (o, lse) if return_lse else o


def _traced(query: Tensor, key: Tensor, score_mod: Optional[Callable], block_mask: Any, scale: Optional[float]) -> Tuple[Bound, str]:
    """The program for a call, and its text with the scale."""
    sizes = Sizes(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    bound = programs.bind(score_mod, mask_mod_of(block_mask, query.device, query.shape[2], key.shape[2]), query.device, sizes)
    for tensor in bound.tensors:
        if tensor.device != query.device:
            raise ArgumentError(f"a captured tensor, of shape {list(tensor.shape)}, is on {tensor.device} and query on {query.device}: move it there")
    if scale is None:
        scale = query.shape[3] ** -0.5
    if not 0 < scale < float("inf"):
        raise ArgumentError(f"scale is {scale}: it must be finite and positive; a score_mod may multiply by any number")
    return bound, f"{bound.text}\nscale {float(scale)!r}"


class FlexSpec(NamedTuple):
    """A program of FlexAttention as a spec, and what it captures, by the spec's names."""

    spec: Spec
    captured: Dict[str, Any]


def flex_spec(query: Tensor, key: Tensor, value: Tensor, score_mod: Optional[Callable[..., Tensor]] = None, block_mask: Any = None,
              scale: Optional[float] = None) -> FlexSpec:
    """The spec that `flex_attention` makes of these arguments, to be read, explained or called:

        spec, captured = flex_spec(q, k, v, score_mod, block_mask)
        print(spec.explain(q_len=q.shape[2], **captured))
        o = attention(q, k, v, spec, **captured)        # this works under torch.compile(fullgraph=True), too

    Raises TraceError as flex_attention does.
    """
    check_tensors(query, key, value)
    bound, text = _traced(query, key, score_mod, block_mask, scale)
    spec = Spec(kernels.fitted(text, query.shape[3], value.shape[3], query.dtype).text)
    captured: Dict[str, Any] = {info.name: tensor for info, tensor in zip(spec.tensors, bound.tensors)}
    captured.update({info.name: int(number) if info.dtype == "i32" else number for info, number in zip(spec.params, bound.numbers)})
    captured.update({spec.params[place].name: scalar for place, scalar in zip(bound.scalar_params, bound.scalars)})
    return FlexSpec(spec, captured)


def _check_heads(query: Tensor, key: Tensor, enable_gqa: bool) -> None:
    if query.shape[0] != key.shape[0] and key.shape[0] != 1:
        raise ArgumentError(f"Expect query and key/value to have the same batch size, or keys of batch 1, but got {query.shape[0]} and {key.shape[0]}.")
    heads, kv_heads = query.shape[1], key.shape[1]
    if not enable_gqa and heads != kv_heads:
        raise ArgumentError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={kv_heads}. "
                            "Try setting enable_gqa=True for GQA.")


def _padded(tensor: Tensor) -> Tensor:
    """With zeros up to a length of a row that kernels have."""
    missing = -tensor.shape[3] % 8
    return functional.pad(tensor, (0, missing)) if missing else tensor
