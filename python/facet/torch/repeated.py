"""Calls that repeat: no gradient, no dropout, on tensors whose types, sizes and strides were there before, captured ones too.

Such a call was checked then. What is left are its addresses, and a few microseconds.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from .. import _core
from . import kernels, run

_MOST = 4096  # calls that are remembered
_Names = Tuple[str, ...]
_Values = Tuple[Any, ...]


def new_calls(exchange: Optional[Any]) -> _core.RepeatedCalls:
    """`exchange`: DLPack's table of C functions, which asks a tensor faster than its attributes do."""
    watchers = (torch._C._len_torch_dispatch_stack, torch._C._are_functorch_transforms_active, torch._C._is_torch_function_mode_enabled,
                torch._C._is_any_autocast_enabled)
    return _core.RepeatedCalls(Tensor, torch.nn.Parameter, watchers, torch.is_grad_enabled, exchange, torch.get_num_threads,
                               getattr(torch._C, "_cuda_getDevice", None), getattr(torch._C, "_cuda_getCurrentRawStream", None), torch.uint8, torch.empty_like)


_calls = new_calls(getattr(Tensor, "__dlpack_c_exchange_api__", None))


def call(text: str, names: _Names, values: _Values, q: Tensor, k: Tensor, v: Tensor) -> Optional[Tensor]:
    """o, where the call repeats an earlier one. `values` are captured tensors and numbers, of these names; without names, all that
    the spec has, in one order.

    A tracer of Python code cannot enter the extension, so it must not come to it; all else is asked there.
    """
    return None if is_dynamo_compiling() else _calls.call(text, names, values, q, k, v)


def remember(text: str, fitted: kernels.Fitted, names: _Names, values: _Values, tensors: Sequence[Tensor], numbers: Sequence[float],
             q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> None:
    """After such a call of the spec `text`, which is `fitted` for these tensors, has returned o. `tensors` and `numbers` are what it
    captures in the spec's order."""
    if fitted.has_dropout or is_dynamo_compiling() or not _calls.is_plain(values, q, k, v):
        return
    on_gpu = q.device.type == "cuda"
    if not all(run.is_readable(tensor, 16 if on_gpu else 1) for tensor in (q, k, v)):
        return
    if not all(tensor.is_contiguous() for tensor in tensors):
        return
    if sum(isinstance(value, Tensor) for value in values) != len(tensors):  # a param that is a tensor: it is read at each call
        return
    order = [info.name for info in fitted.tensors]
    places = [order.index(name) for name in names if name in order] if names else list(range(len(order)))
    kernel = kernels.kernel_for(fitted.text, q.device)
    like = torch.empty_like(q, device="meta")  # takes no memory
    is_like_q = (like.shape, like.stride()) == (o.shape, o.stride())
    if _calls.size >= _MOST:
        _calls.clear()
    _calls.add(text, names, values, q, k, v, kernel._core, [kernels.view(tensor) for tensor in (q, k, v, o)],
               kernels.captured(kernel.spec, tensors, numbers), places, None if is_like_q else o.shape,
               None if is_like_q else o.stride(), q.get_device(), torch.get_num_threads())
