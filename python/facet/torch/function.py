"""Attention without a tracer: the passes as they are, and their derivative for autograd and torch.func."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import _get_current_dispatch_mode

from . import run
from .ops import attention_op, one_line


def attend(call: run.Call, q: Tensor, k: Tensor, v: Tensor, tensors: List[Tensor], scalars: List[Tensor],
           seed: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    """o and lse, the cheapest way that whoever is watching allows."""
    if torch.compiler.is_compiling() or _is_watched(q):
        return attention_op(q, k, v, one_line(call.spec), tensors, scalars, list(call.scalar_params), list(call.numbers),
                            call.dropout, seed, call.impl)
    if torch._C._are_functorch_transforms_active():
        return Attention.apply(call, len(tensors), seed, q, k, v, *tensors, *scalars)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (q, k, v, *tensors, *scalars)):
        call.check_has_backward()
        return Recorded.apply(call, len(tensors), seed, q, k, v, *tensors, *scalars)
    return run.forward(call, q, k, v, tensors, scalars, seed)


def _is_watched(q: Tensor) -> bool:
    """Whether a fake tensor or a dispatch mode wants to see an operator."""
    return _get_current_dispatch_mode() is not None or type(q) not in (Tensor, torch.nn.Parameter)


class Attention(torch.autograd.Function):
    """For torch.func."""

    @staticmethod
    def forward(call, num_tensors, seed, q, k, v, *captured):
        return run.forward(call, q, k, v, captured[:num_tensors], captured[num_tensors:], seed)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.call, ctx.num_tensors, seed, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.has_seed = seed is not None
        ctx.save_for_backward(*tensors[:3], *output, *tensors[3:], *([] if seed is None else [seed]))

    @staticmethod
    def backward(ctx, d_o, d_lse):
        q, k, v, o, lse, *captured = ctx.saved_tensors
        if d_o is None and d_lse is None:
            return (None,) * (6 + len(captured) - ctx.has_seed)
        seed = captured.pop() if ctx.has_seed else None
        if d_o is None:
            d_o = torch.zeros_like(o)
        apply = Backward.apply if torch._C._are_functorch_transforms_active() or torch.is_grad_enabled() else Backward.forward
        gradients = apply(ctx.call, ctx.num_tensors, seed, d_o, d_lse, q, k, v, o, lse, *captured)
        d_tensors, d_scalars = run.arranged(ctx.call, gradients[3:], captured[ctx.num_tensors:])
        return (None, None, None, *gradients[:3], *d_tensors, *d_scalars)

    @staticmethod
    def vmap(info, in_dims, *args):
        return _looped(Attention.apply, info.batch_size, in_dims, args)


class Recorded(torch.autograd.Function):
    """For autograd alone: PyTorch calls a function of this form at a fifth of the cost."""

    @staticmethod
    def forward(ctx, *inputs):
        output = Attention.forward(*inputs)
        Attention.setup_context(ctx, inputs, output)
        return output

    backward = Attention.backward


class Backward(torch.autograd.Function):
    """The backward pass as a function of its own, which has no derivative but a vmap."""

    @staticmethod
    def forward(call, num_tensors, seed, d_o, d_lse, q, k, v, o, lse, *captured):
        return tuple(run.backward(call, d_o, d_lse, q, k, v, o, lse, captured[:num_tensors], captured[num_tensors:], seed))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, *gradients):
        raise NotImplementedError("facet.torch: attention has no second derivative")

    @staticmethod
    def vmap(info, in_dims, *args):
        return _looped(Backward.apply, info.batch_size, in_dims, args)


def _looped(apply: Any, size: int, in_dims: Sequence[Optional[int]], args: Sequence[Any]) -> Tuple[Tuple[Tensor, ...], Tuple[int, ...]]:
    """One call an element of vmap's dimension: hooks read the number of their batch entry, so the two cannot be one."""
    results = [apply(*(arg if dim is None else arg.select(dim, i) for arg, dim in zip(args, in_dims))) for i in range(size)]
    stacked = tuple(torch.stack(parts) for parts in zip(*results))
    return stacked, (0,) * len(stacked)
