"""Kernels for tensors of PyTorch: found by what is compiled in, called with pointers."""

from __future__ import annotations

import functools
from typing import NamedTuple, Sequence, Tuple

import torch

from .. import _core
from ..errors import ArgumentError
from ..kernel import Impl, Kernel, compile
from ..spec import ParamInfo, Spec, TensorInfo

DTYPES = {
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.int32: "i32", torch.int64: "i64", torch.int8: "i8",
    torch.uint8: "u8", torch.bool: "bool",
}


@functools.lru_cache(maxsize=4096)
def spec_of(text: str) -> Spec:
    """The spec of a text that an op was given."""
    return Spec(text)


class Fitted(NamedTuple):
    """A spec for tensors of one type and head dims, in plain Python."""

    text: str
    tensors: Tuple[TensorInfo, ...]
    params: Tuple[ParamInfo, ...]
    has_dropout: bool


def fitted(text: str, head_dim: int, head_dim_v: int, dtype: torch.dtype) -> Fitted:
    """The spec of a text for tensors of these sizes and this type."""
    return _fitted(text, head_dim, head_dim_v, dtype)


# torch.compile asks at compile time, and cannot look into an extension module. This is all that
# torch.compiler.assume_constant_result does, but for a second of importing the compiler.
# By setattr, as the type of a function has no such attribute.
setattr(fitted, "_dynamo_marked_constant", True)


@functools.lru_cache(maxsize=4096)
def _fitted(text: str, head_dim: int, head_dim_v: int, dtype: torch.dtype) -> Fitted:
    name = DTYPES.get(dtype)
    if name not in ("f16", "bf16", "f32"):
        raise ArgumentError(f"q is {dtype}: Facet computes on float32, float16 and bfloat16; convert q, k and v")
    spec = spec_of(text)
    if (spec.head_dim, spec.head_dim_v) != (head_dim, head_dim_v):
        spec = spec.with_head_dim(head_dim, head_dim_v)
    if spec.dtype != name:
        spec = spec.with_dtype(name)
    return Fitted(spec.text, spec.tensors, spec.params, spec.has_dropout)


@functools.lru_cache(maxsize=4096)
def _kernel(text: str, device: str, index: int, threads: int, backward: bool, deterministic: bool, impl: Impl) -> Kernel:
    return compile(spec_of(text), device=device, cuda_device=index, num_threads=threads, backward=backward,
                   deterministic=deterministic, impl=impl)


def kernel_for(text: str, device: torch.device, backward: bool = False, impl: Impl = "facet") -> Kernel:
    """The kernel of a spec on a device; on the CPU with PyTorch's number of threads."""
    if device.type == "cpu":
        return _kernel(text, "cpu", 0, torch.get_num_threads(), backward, False, impl)  # whose bits repeat anyway
    if device.type != "cuda":
        raise ArgumentError(f"q is on {device}: Facet runs on CPUs and NVIDIA GPUs")
    index = device.index if device.index is not None else torch.cuda.current_device()
    return _kernel(text, "cuda", index, 0, backward, backward and torch.are_deterministic_algorithms_enabled(), impl)


def view(tensor: torch.Tensor) -> "_core.View":
    """A view of a tensor, which the caller keeps."""
    dtype = DTYPES.get(tensor.dtype)
    if dtype is None:
        raise ArgumentError(f"a tensor is {tensor.dtype}, which Facet does not have: convert it")
    return _core.View.at(tensor.data_ptr(), dtype, tensor.shape, tensor.stride())


def captured(spec: Spec, tensors: Sequence[torch.Tensor], numbers: Sequence[float]) -> "_core.Captured":
    """Captured values in the spec's order: each tensor, contiguous, and each param as a number."""
    views = {info.name: view(tensor) for info, tensor in zip(spec.tensors, tensors)}
    params = {info.name: int(number) if info.dtype == "i32" else number for info, number in zip(spec.params, numbers)}
    return _core.Captured(spec._core, views, params)
