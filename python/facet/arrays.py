"""Arrays of other libraries: a view of their memory, and new ones like them.

No library is imported here before an array of it is seen.
"""

from __future__ import annotations

import sys
from typing import Any, Sequence

from . import _core
from .errors import ArgumentError

CPU, CUDA, PINNED, MANAGED = 1, 2, 3, 13  # as DLPack counts devices

_NUMPY = {"f32": "float32", "f16": "float16", "i32": "int32", "i64": "int64", "i8": "int8", "u8": "uint8", "bool": "bool"}
_TORCH = {**_NUMPY, "bf16": "bfloat16"}


def library(array: Any) -> str:
    """The library that an array is of: "torch", "numpy", ..."""
    return type(array).__module__.partition(".")[0]


def view(array: Any, name: str) -> "_core.View":
    """A view of an array's memory, which it keeps. Raises ArgumentError that names the array."""
    dtype = None
    if getattr(array, "requires_grad", False):
        raise ArgumentError(f"{name} requires a gradient, which a kernel knows nothing of: use facet.torch.attention, or detach() it")
    if library(array) == "numpy" and getattr(array.dtype, "name", "") == "bfloat16":
        array, dtype = array.view("uint16"), "bf16"  # of ml_dtypes: NumPy itself cannot hand it over
    try:
        return _core.View.of(array, dtype)
    except TypeError:
        raise ArgumentError(f"{name} is a {type(array).__name__}: pass an array that speaks DLPack") from None
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None


def empty(like: Any, shape: Sequence[int], dtype: str) -> Any:
    """A new contiguous array, of the library and on the device of `like`; of a library that has no arrays that can be
    written, one of NumPy."""
    kind = library(like)
    if kind == "torch":
        import torch

        return torch.empty(tuple(shape), dtype=getattr(torch, _TORCH[dtype]), device=like.device)
    if kind == "cupy":
        import cupy

        with like.device:
            return cupy.empty(tuple(shape), _numpy_dtype(dtype))
    import numpy

    return numpy.empty(tuple(shape), _numpy_dtype(dtype))


class Workspace:
    """Memory for one call on the device of `like`; kept as long as this is."""

    def __init__(self, like: Any):
        self._like = like
        self._memory: Any = None

    def __call__(self, size: int) -> int:
        """The address of `size` new bytes."""
        self._memory = empty(self._like, (size,), "u8")
        return view(self._memory, "workspace").data


def current_stream(like: Any) -> int:
    """The address of the CUDA stream on which the array's library works now; 0 is the default stream."""
    if library(like) == "torch":
        return sys.modules["torch"].cuda.current_stream(like.device).cuda_stream
    if library(like) == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0


def _numpy_dtype(dtype: str) -> Any:
    import numpy

    if dtype != "bf16":
        return numpy.dtype(_NUMPY[dtype])
    try:
        import ml_dtypes
    except ImportError:
        raise ArgumentError("NumPy has no bf16: install ml_dtypes, or pass arrays of PyTorch") from None
    return numpy.dtype(ml_dtypes.bfloat16)


def check_device(view: "_core.View", name: str, device: str, cuda_device: int) -> None:
    """Raises ArgumentError where a kernel cannot reach the array."""
    if device == "cpu":
        if view.device_type not in (CPU, PINNED, MANAGED):
            raise ArgumentError(f"{name} is in a GPU's memory and the kernel runs on the CPU: compile for device='cuda'")
    elif view.device_type not in (CUDA, MANAGED):
        raise ArgumentError(f"{name} is in host memory and the kernel runs on a GPU: move it there, or compile for device='cpu'")
    elif view.device_type == CUDA and view.device_id != cuda_device:
        raise ArgumentError(f"{name} is on GPU {view.device_id} and the kernel on GPU {cuda_device}")
