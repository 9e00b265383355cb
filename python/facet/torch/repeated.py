"""Calls that repeat: no gradient, no captured tensor, no dropout, on tensors whose types, sizes and strides were there before.

Such a call was checked then. What is left are its addresses, and a few microseconds.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from .. import _core
from . import kernels, run

_MOST = 4096  # calls that are remembered
_NUMBERS = Tuple[float, ...]


def new_calls(exchange: Optional[Any]) -> _core.RepeatedCalls:
    """`exchange`: DLPack's table of C functions, which asks a tensor faster than its attributes do."""
    watchers = (torch._C._len_torch_dispatch_stack, torch._C._are_functorch_transforms_active, torch._C._is_torch_function_mode_enabled,
                torch._C._is_any_autocast_enabled)
    return _core.RepeatedCalls(Tensor, watchers, torch.is_grad_enabled, exchange, torch.get_num_threads,
                               getattr(torch._C, "_cuda_getDevice", None), getattr(torch._C, "_cuda_getCurrentRawStream", None), torch.uint8)


_calls = new_calls(getattr(Tensor, "__dlpack_c_exchange_api__", None))


def call(text: str, numbers: _NUMBERS, q: Tensor, k: Tensor, v: Tensor) -> Optional[Tensor]:
    """o, where the call repeats an earlier one; `numbers` are the spec's params, none if they are its defaults.

    A tracer of Python code cannot enter the extension, so it must not come to it; all else is asked there.
    """
    return None if is_dynamo_compiling() else _calls.call(text, numbers, q, k, v)


def remember(text: str, fitted: kernels.Fitted, numbers: _NUMBERS, q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> None:
    """After such a call of the spec `text`, which is `fitted` for these tensors, has returned o."""
    if fitted.has_dropout or fitted.tensors or is_dynamo_compiling() or not _calls.is_plain(q, k, v):
        return
    on_gpu = q.device.type == "cuda"
    if not all(run.is_readable(tensor, 16 if on_gpu else 1) for tensor in (q, k, v)):
        return
    kernel = kernels.kernel_for(fitted.text, q.device)
    values = numbers or tuple(float(param.default) for param in fitted.params)
    if _calls.size >= _MOST:
        _calls.clear()
    _calls.add(text, numbers, q, k, v, kernel._core, [kernels.view(tensor) for tensor in (q, k, v, o)],
               kernels.captured(kernel.spec, (), values), o.shape, o.stride(), q.get_device(), torch.get_num_threads())
