"""attention(): any spec on tensors of PyTorch, with gradients."""

from __future__ import annotations

from typing import Any, List, Literal, Mapping, Optional, Tuple, Union, overload

import torch
from torch import Tensor

from ..errors import ArgumentError
from ..kernel import IMPLS, Impl
from ..spec import ParamInfo, Spec, TensorInfo
from . import kernels, repeated, run
from .function import attend

_Info = Union[TensorInfo, ParamInfo]


@overload
def attention(q: Tensor, k: Tensor, v: Tensor, spec: Union[Spec, str], *, return_lse: Literal[False] = ..., dropout_p: Optional[float] = ...,
              seed: Optional[Union[int, Tensor]] = ..., impl: Impl = ..., captured: Mapping[str, Any] = ..., **tensors_and_params: Any) -> Tensor: ...
@overload
def attention(q: Tensor, k: Tensor, v: Tensor, spec: Union[Spec, str], *, return_lse: Literal[True], dropout_p: Optional[float] = ...,
              seed: Optional[Union[int, Tensor]] = ..., impl: Impl = ..., captured: Mapping[str, Any] = ...,
              **tensors_and_params: Any) -> Tuple[Tensor, Tensor]: ...
@overload
def attention(q: Tensor, k: Tensor, v: Tensor, spec: Union[Spec, str], *, return_lse: bool, dropout_p: Optional[float] = ...,
              seed: Optional[Union[int, Tensor]] = ..., impl: Impl = ..., captured: Mapping[str, Any] = ...,
              **tensors_and_params: Any) -> Union[Tensor, Tuple[Tensor, Tensor]]: ...
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    spec: Union[Spec, str],
    *,
    return_lse: bool = False,
    dropout_p: Optional[float] = None,
    seed: Optional[Union[int, Tensor]] = None,
    impl: Impl = "facet",
    captured: Mapping[str, Any] = {},
    **tensors_and_params: Any,
) -> Union[Tensor, Tuple[Tensor, Tensor]]:
    """Attention as a spec says it: o, or (o, lse) with return_lse.

    q          [batch, num_q_heads, q_len, head_dim] in float32, bfloat16 or float16; any strides
    k          [batch, num_kv_heads, kv_len, head_dim]; num_q_heads is a multiple of num_kv_heads
    v          [batch, num_kv_heads, kv_len, head_dim_v]
    spec       a facet.Spec or its text; it is compiled for q's type and head dim and v's, whatever it states itself
    dropout_p  a probability other than the one of the spec's line `dropout`
    seed       decides what is dropped; by default it comes from PyTorch's generator, so torch.manual_seed repeats it
    impl       "facet", or a baseline to compare with, "standard" or "flash1" (docs/baselines.md): of those no gradient can be asked for
    captured   tensors and params whose names are taken by the arguments above

    All other keywords are the spec's captured tensors (every one, of its type; any strides) and params (those that differ from
    their defaults: numbers, or tensors of one element). lse is [batch, num_q_heads, q_len] in float32, the natural logarithm;
    -inf in a row without keys; o is 0 there. The dimensions of o have the same order in memory as those of q.

    Gradients reach q, k, v, and the tensors and params that the spec marks `grad`; of o and of lse. CPU tensors are computed by
    the CPU; those on an NVIDIA GPU there, on the current stream. Works under
    torch.compile(fullgraph=True), autocast (q, k and v are converted), activation checkpointing and torch.func. A kernel is
    compiled at the first call for a spec, type and head dims, and then serves all lengths. Raises facet.ArgumentError naming
    what does not fit.
    """
    if impl not in IMPLS:
        raise ArgumentError(f"impl is {impl!r}; it may be {', '.join(IMPLS[:-1])} or {IMPLS[-1]}")
    text = spec if isinstance(spec, str) else spec.text
    given = {**captured, **tensors_and_params} if captured else tensors_and_params
    names, values = (tuple(given), tuple(given.values())) if given else ((), ())
    may_repeat = not (return_lse or dropout_p is not None or seed is not None or impl != "facet")
    if may_repeat and (known := repeated.call(text, names, values, q, k, v)) is not None:
        return known
    q, k, v = autocast(q, k, v)
    check_tensors(q, k, v)
    fitted = kernels.fitted(text, q.shape[3], v.shape[3], q.dtype)
    tensors, scalars, places, numbers = _sorted(fitted, given, q)
    if fitted.has_dropout and dropout_p != 0:
        seed = _seed(seed)
    else:
        seed = None
    o, lse = attend(run.Call(fitted.text, places, numbers, dropout_p, impl), q, k, v, tensors, scalars, seed)
    if may_repeat:
        repeated.remember(text, fitted, names, values, tensors, numbers, q, k, v, o)
    return (o, lse) if return_lse else o


def autocast(q: Tensor, k: Tensor, v: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """q, k and v in the type that autocast asks for."""
    if not (torch.compiler.is_compiling() or torch._C._is_any_autocast_enabled()):  # faster than to ask for one device
        return q, k, v
    kind = q.device.type
    if not torch.is_autocast_enabled(kind):
        return q, k, v
    dtype = torch.get_autocast_dtype(kind)
    return q.to(dtype), k.to(dtype), v.to(dtype)


def check_tensors(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raises ArgumentError where they do not go together."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() != 4:
            raise ArgumentError(f"{name} has {tensor.dim()} dimensions: it must have four, [batch, heads, length, dim]")
        if tensor.device != q.device:
            raise ArgumentError(f"{name} is on {tensor.device} and q on {q.device}: move them to one device")
        if tensor.dtype != q.dtype:
            raise ArgumentError(f"{name} is {tensor.dtype} and q {q.dtype}: convert them to one type")
    if k.shape[3] != q.shape[3]:
        raise ArgumentError(f"k has head dim {k.shape[3]} and q {q.shape[3]}: they must be equal")


def _sorted(spec: kernels.Fitted, given: Mapping[str, Any], q: Tensor) -> Tuple[List[Tensor], List[Tensor], List[int], List[float]]:
    """The captured values in the spec's order: tensors, params that are tensors and their places, and all params as numbers."""
    tensors: List[Tensor] = []
    scalars: List[Tensor] = []
    places: List[int] = []
    numbers: List[float] = []
    for info in spec.tensors:
        tensor = given.get(info.name)
        if not isinstance(tensor, Tensor):
            what = "is missing" if tensor is None else f"is a {type(tensor).__name__}"
            raise ArgumentError(f"tensor '{info.name}' {what}: pass {info.name}=, a tensor {info.dtype}[{', '.join(info.extents)}]")
        if tensor.device != q.device:
            raise ArgumentError(f"tensor '{info.name}' is on {tensor.device} and q on {q.device}: move it there")
        _check_gradient(info, tensor)
        tensors.append(tensor)
    for place, param in enumerate(spec.params):
        value = given.get(param.name, param.default)
        if isinstance(value, Tensor):
            if value.numel() != 1:
                raise ArgumentError(f"param '{param.name}' is one number: its tensor has {value.numel()} elements")
            _check_gradient(param, value)
            scalars.append(value)
            places.append(place)
            value = param.default
        elif param.dtype == "i32" and int(value) != value:
            raise ArgumentError(f"param '{param.name}' is an i32: {value} is none")
        numbers.append(float(value))
    infos: Tuple[_Info, ...] = (*spec.tensors, *spec.params)
    known = [info.name for info in infos]
    for name in given:
        if name not in known:
            raise ArgumentError(f"'{name}' is neither a tensor nor a param of the spec: it has {', '.join(known) or 'none'}")
    return tensors, scalars, places, numbers


def _check_gradient(info: _Info, tensor: Tensor) -> None:
    if tensor.requires_grad and not info.grad and torch.is_grad_enabled():
        raise ArgumentError(f"'{info.name}' requires a gradient, and the spec does not mark it: write `grad` at the end of its "
                            "line, or detach() it")


def _seed(seed: Optional[Union[int, Tensor]]) -> Tensor:
    if seed is None:
        return torch.randint(0, 2**63 - 1, (), dtype=torch.int64)
    if isinstance(seed, Tensor):
        return seed
    if not 0 <= seed < 2**64:
        raise ArgumentError(f"seed is {seed}: it must be from 0 to 2**64 - 1")
    return torch.tensor(seed - 2**64 if seed >= 2**63 else seed, dtype=torch.int64)
