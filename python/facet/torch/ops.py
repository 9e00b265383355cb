"""The operators facet::attention and facet::attention_backward: what PyTorch's tracers see of attention.

Every argument is what they understand: tensors, numbers, and the spec as its text on one line (`one_line`, `run.Call`). Without a
tracer `function` does the same at less cost.
"""

from __future__ import annotations

import re
from typing import List, Optional, Tuple, cast

import torch
from torch import Tensor

from ..kernel import Impl
from . import kernels, run


def one_line(text: str) -> str:
    """A spec's text as the operators take it. PyTorch's compiler prints the arguments of operators into comments of the code that it
    writes, where a line break would end the comment."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _text(line: str) -> str:
    """What `one_line` was given."""
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "r": "\r"}.get(found[1], found[1]), line)


def _call(spec: str, scalar_params: List[int], numbers: List[float], dropout: Optional[float], impl: str) -> run.Call:
    """The arguments of the operator, whose schema knows an Impl as a string."""
    return run.Call(_text(spec), scalar_params, numbers, dropout, cast(Impl, impl))


@torch.library.custom_op("facet::attention", mutates_args=())
def attention_op(q: Tensor, k: Tensor, v: Tensor, spec: str, tensors: List[Tensor], scalars: List[Tensor],
                 scalar_params: List[int], numbers: List[float], dropout: Optional[float],
                 seed: Optional[Tensor], impl: str) -> Tuple[Tensor, Tensor]:
    """o [batch, num_q_heads, q_len, head_dim_v] and lse [batch, num_q_heads, q_len]."""
    return run.forward(_call(spec, scalar_params, numbers, dropout, impl), q, k, v, tensors, scalars, seed)


@attention_op.register_fake
def _(q, k, v, spec, tensors, scalars, scalar_params, numbers, dropout, seed, impl):
    return run.new_output(q, v.shape[3]), run.new_lse(q)


@torch.library.custom_op("facet::attention_backward", mutates_args=())
def backward_op(d_o: Tensor, d_lse: Optional[Tensor], q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, spec: str,
                tensors: List[Tensor], scalars: List[Tensor], scalar_params: List[int], numbers: List[float],
                dropout: Optional[float], seed: Optional[Tensor]) -> List[Tensor]:
    """The gradients by q, k, v, then by each tensor and each param that the spec marks `grad`, in its order."""
    call = _call(spec, scalar_params, numbers, dropout, "facet")
    return run.backward(call, d_o, d_lse, q, k, v, o, lse, tensors, scalars, seed)


@backward_op.register_fake
def _(d_o, d_lse, q, k, v, o, lse, spec, tensors, scalars, scalar_params, numbers, dropout, seed):
    parsed = kernels.spec_of(_text(spec))
    captured = [tensor.new_empty(tensor.shape) for info, tensor in zip(parsed.tensors, tensors) if info.grad]
    captured += [q.new_empty((), dtype=torch.float32) for info in parsed.params if info.grad]
    return [torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), *captured]


def _save(ctx, inputs, output):
    q, k, v, spec, tensors, scalars, scalar_params, numbers, dropout, seed, impl = inputs
    call = _call(spec, scalar_params, numbers, dropout, impl)
    call.check_has_backward()
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(q, k, v, *output, *tensors, *scalars, *([] if seed is None else [seed]))
    ctx.call, ctx.num_tensors, ctx.has_seed = call, len(tensors), seed is not None


def _differentiate(ctx, d_o, d_lse):
    q, k, v, o, lse, *rest = ctx.saved_tensors
    call = ctx.call
    seed = rest.pop() if ctx.has_seed else None
    tensors, scalars = rest[:ctx.num_tensors], rest[ctx.num_tensors:]
    if d_o is None:
        d_o = torch.zeros_like(o)
    d_q, d_k, d_v, *captured = backward_op(d_o, d_lse, q, k, v, o, lse, one_line(call.spec), tensors, scalars,
                                           call.scalar_params, call.numbers, call.dropout, seed)
    d_tensors, d_scalars = run.arranged(call, captured, scalars)
    # PyTorch takes an empty list of numbers for one of tensors.
    return (d_q, d_k, d_v, None, d_tensors, d_scalars, None if call.scalar_params else [], None if call.numbers else [], None,
            None, None)


attention_op.register_autograd(_differentiate, setup_context=_save)
