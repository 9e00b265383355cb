"""One forward or backward pass on tensors that hold numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .. import arrays
from ..errors import ArgumentError
from ..kernel import Impl
from . import kernels


@dataclass(frozen=True)
class Call:
    """What a call is made of beside its tensors. Not a tuple, which PyTorch would take apart."""

    spec: str  #: the text, for q's type and head dims
    scalar_params: Sequence[int]  #: places of the params that are tensors of one element
    numbers: Sequence[float]  #: all params, in the spec's order
    dropout: Optional[float]  #: none: the spec's own
    impl: Impl = "facet"

    def check_has_backward(self) -> None:
        """Raises ArgumentError for a baseline, which has a forward pass alone."""
        if self.impl != "facet":
            raise ArgumentError(f"{self.impl} attention has no backward pass, and a gradient is asked for: call it under torch.no_grad() or "
                                "on tensors that are detached, or take impl=\"facet\"")


def new_output(q: Tensor, dim: int) -> Tensor:
    """Memory for o [batch, heads, length, dim]. Its dimensions have the order in memory that q's have, where q repeats none."""
    strides = q.stride()
    if strides[0] >= strides[1] >= strides[2] or 0 in strides:
        return q.new_empty((*q.shape[:3], dim))
    order = sorted(range(3), key=lambda i: -strides[i])
    o = q.new_empty((*(q.shape[i] for i in order), dim))
    return o.permute(*(order.index(i) for i in range(3)), 3)


def new_lse(q: Tensor) -> Tensor:
    return q.new_empty(q.shape[:3], dtype=torch.float32)


def forward(call: Call, q: Tensor, k: Tensor, v: Tensor, tensors: Sequence[Tensor], scalars: Sequence[Tensor],
            seed: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    """o [batch, num_q_heads, q_len, head_dim_v] and lse [batch, num_q_heads, q_len]."""
    kernel = kernels.kernel_for(call.spec, q.device, impl=call.impl)
    on_gpu = kernel.device == "cuda"
    alignment = 16 if on_gpu else 1
    q, k, v = _rows(q, alignment), _rows(k, alignment), _rows(v, alignment)
    tensors = [tensor.contiguous() for tensor in tensors]
    o, lse = new_output(q, v.shape[3]), new_lse(q)
    views = kernels.view(q), kernels.view(k), kernels.view(v), kernels.view(o), kernels.view(lse)
    captured = kernels.captured(kernel.spec, tensors, _values(call, scalars))
    if not on_gpu:
        kernel._core.forward(*views, captured, call.dropout, _number(seed))
        return o, lse
    with torch.cuda.device(q.device):
        size = kernel._core.workspace_bytes(*views[:4], captured)
        workspace = q.new_empty(size, dtype=torch.uint8) if size else None
        kernel._core.forward(*views, captured, call.dropout, _number(seed), torch.cuda.current_stream().cuda_stream,
                             workspace.data_ptr() if workspace is not None else 0, size)
    return o, lse


def backward(call: Call, d_o: Tensor, d_lse: Optional[Tensor], q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor,
             tensors: Sequence[Tensor], scalars: Sequence[Tensor], seed: Optional[Tensor]) -> List[Tensor]:
    """The gradients by q, k, v, then by each tensor and each param that the spec marks `grad`, in its order."""
    call.check_has_backward()
    kernel = kernels.kernel_for(call.spec, q.device, backward=True)
    alignment = 16 if kernel.device == "cuda" else 1
    q, k, v, o, d_o = (_rows(tensor, alignment) for tensor in (q, k, v, o, d_o))
    lse = lse.contiguous()  # under a name, which keeps its memory as a view does not
    tensors = [tensor.contiguous() for tensor in tensors]
    d_q, d_k, d_v = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    marked = [(info.name, tensor) for info, tensor in zip(kernel.spec.tensors, tensors) if info.grad]
    gradients = {name: tensor.new_empty(tensor.shape, dtype=torch.float32) for name, tensor in marked}
    gradients.update({info.name: q.new_empty((), dtype=torch.float32) for info in kernel.spec.params if info.grad})
    views = (kernels.view(q), kernels.view(k), kernels.view(v), kernels.view(o), kernels.view(lse), kernels.view(d_o),
             kernels.view(d_q), kernels.view(d_k), kernels.view(d_v))
    d_lse = None if d_lse is None else d_lse.contiguous()
    arguments = (*views[:5], kernels.captured(kernel.spec, tensors, _values(call, scalars)), call.dropout, _number(seed), views[5],
                 None if d_lse is None else kernels.view(d_lse), *views[6:],
                 {name: kernels.view(gradient) for name, gradient in gradients.items()})
    if kernel.device == "cpu":
        kernel._core.backward(*arguments)
    else:
        workspace = arrays.Workspace(q)  # PyTorch's allocator gives it to nobody else before this stream is done with it
        with torch.cuda.device(q.device):
            kernel._core.backward(*arguments, torch.cuda.current_stream().cuda_stream, workspace)
    for name, tensor in marked:
        gradients[name] = gradients[name].to(tensor.dtype)
    return [d_q, d_k, d_v, *gradients.values()]


def arranged(call: Call, gradients: Sequence[Tensor], scalars: Sequence[Tensor]) -> Tuple[List[Optional[Tensor]], List[Optional[Tensor]]]:
    """The captured gradients of `backward` beside the tensors and scalars that they belong to; none: not marked `grad`."""
    rest = iter(gradients)
    spec = kernels.spec_of(call.spec)
    of_tensors = [next(rest) if info.grad else None for info in spec.tensors]
    of_params = [next(rest) if info.grad else None for info in spec.params]
    of_scalars = []
    for place, scalar in zip(call.scalar_params, scalars):
        gradient = of_params[place]
        of_scalars.append(None if gradient is None else gradient.to(scalar.dtype).reshape(scalar.shape).to(scalar.device))
    return of_tensors, of_scalars


def _rows(tensor: Tensor, alignment: int) -> Tensor:
    """The tensor with rows that a kernel can read."""
    return tensor if is_readable(tensor, alignment) else tensor.clone(memory_format=torch.contiguous_format)


def is_readable(tensor: Tensor, alignment: int) -> bool:
    """Whether a kernel can read the tensor's rows, which begin at a multiple of `alignment` bytes."""
    strides = tensor.stride()
    bytes_of = tensor.element_size()
    return strides[3] == 1 and (alignment == 1 or tensor.data_ptr() % alignment == 0 and all(
        stride * bytes_of % alignment == 0 for stride in strides[:3]))


def _values(call: Call, scalars: Sequence[Tensor]) -> Sequence[float]:
    if not scalars:
        return call.numbers
    values = list(call.numbers)
    for place, scalar in zip(call.scalar_params, scalars):
        values[place] = scalar.item()
    return values


def _number(seed: Optional[Tensor]) -> int:
    return 0 if seed is None else seed.item() & (1 << 64) - 1  # type: ignore[operator]  # item() of an int64 is an int
