"""Compiled kernels."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, Literal, Mapping, NamedTuple, Optional, Tuple, Union, get_args

from . import _core, arrays
from .errors import ArgumentError
from .explain import Explanation
from .spec import Spec


Impl = Literal["facet", "standard", "flash1"]  #: which implementation of attention
IMPLS: Tuple[str, ...] = get_args(Impl)


@dataclass(frozen=True)
class CompileTimes:
    """Where the time of one ``compile`` went, in milliseconds."""

    front_end: float  #: parse, check, lower, analyse, choose, emit
    build: float  #: NVRTC or LLVM's code generator; 0 where a cache had it
    driver: float  #: the CUDA driver's start, once a process and GPU
    load: float  #: reading the disk cache, the driver's loading, or linking
    tune: float  #: timing plans, for tune="once"
    total: float
    source: str  #: "compiled", "disk" or "memory"
    miss: str  #: why the disk cache did not have it
    not_kept: str  #: why the disk cache could not keep it, or empty
    tuned: str  #: where a tuned plan was looked for: which is used, or why none


class KernelPlan(NamedTuple):
    """One of a kernel's plans, and the calls that it is for."""

    calls: str  #: "up to 66 CTAs of work", "all other calls", or "every call" of a kernel with one plan
    plan: str


class Gradients(NamedTuple):
    """What a backward pass gives: the loss's gradients by q, k and v, like these, and by each param and tensor that the spec
    marks ``grad``, by name, in f32."""

    q: Any
    k: Any
    v: Any
    captured: Dict[str, Any]


def compile(
    spec: Union[Spec, str],
    *,
    device: str = "auto",
    backward: bool = False,
    deterministic: bool = False,
    impl: Impl = "facet",
    plan: str = "",
    backward_plan: str = "",
    cuda_device: int = 0,
    num_threads: int = 0,
    target: str = "",
    checked: bool = False,
    tune: str = "cached",
    tune_seconds: float = 2.0,
    cache_dir: Union[str, os.PathLike] = "",
    disk_cache: bool = True,
    memory_cache: bool = True,
) -> "Kernel":
    """Compiles a spec, or takes its kernel from the caches: tens to hundreds of milliseconds, or none.

    device        "cpu", "cuda", or "auto": the NVIDIA GPU where there is one, else the CPU
    backward      Kernel.backward too
    deterministic with backward: every gradient has the same bits in every run; costs a GPU time and memory, the CPU nothing
    impl          "facet", or a baseline to compare with: "standard" (S and P whole in memory), "flash1" (FlashAttention's algorithm 1);
                  those have a forward pass alone, skip nothing, and take memory for each call: docs/baselines.md
    plan          forces a plan or parts of one, as ``facet explain`` prints it: "tile_q=128 tile_kv=64"
    backward_plan the same for the backward pass on a GPU, as ``facet explain --backward`` prints it: "keys(tile_q=64) delays_dq=0"
    cuda_device   which GPU
    num_threads   on the CPU: 0 is every core that this process may use
    target        the kernels of another GPU, no newer than this one: "t4"
    checked       each call first looks for reads outside captured tensors, which kernels clamp, and raises; for debugging
    tune          "never", "cached" (a plan that ``facet tune`` found, or that ships), or "once": times plans for at most tune_seconds
    cache_dir     where kernels are kept; by default FA_CACHE_DIR, else ~/.cache/facet

    Lengths, batch, heads, strides, params and the seed are not compiled in: one kernel serves all. Raises SpecError (the
    target cannot run the spec), ArgumentError (a name or plan that nobody knows; a baseline with backward=True), DeviceError (no such device), BuildError.
    """
    if isinstance(spec, str):
        spec = Spec(spec)
    core = _core.compile(
        spec._core, device=device, cuda_device=cuda_device, num_threads=num_threads, backward=backward,
        deterministic=deterministic, impl=impl, plan=plan, backward_plan=backward_plan, target=target,
        checked=checked, tune=tune, tune_seconds=tune_seconds, cache_dir=os.fspath(cache_dir), disk_cache=disk_cache,
        memory_cache=memory_cache)
    return Kernel(core, cuda_device)


class Kernel:
    """A loaded kernel: made by `compile`, usable from several threads at once, and in a forked child on the CPU."""

    def __init__(self, core: "_core.Kernel", cuda_device: int):
        self._core = core
        self._cuda_device = cuda_device
        self.device: str = core.device  #: "cpu" or "cuda"
        self.spec = Spec._of(core.spec)
        self._params = {param.name: param for param in self.spec.params}
        self._tensors = {tensor.name: tensor for tensor in self.spec.tensors}
        self._gradients = tuple(tensor.name for tensor in self.spec.tensors if tensor.grad), tuple(
            param.name for param in self.spec.params if param.grad)

    def __call__(self, q: Any, k: Any, v: Any, *, return_lse: bool = False, out: Any = None, dropout: Optional[float] = None,
                 seed: int = 0, stream: Optional[int] = None, captured: Mapping[str, Any] = {}, **tensors_and_params: Any) -> Any:
        """Attention: o, or (o, lse) with return_lse.

        q         [batch, num_q_heads, q_len, head_dim], of the spec's dtype; any strides but for the last dimension, whose is 1
        k         [batch, num_kv_heads, kv_len, head_dim]; num_q_heads is a multiple of num_kv_heads
        v         [batch, num_kv_heads, kv_len, head_dim_v]
        out       where o is written, [batch, num_q_heads, q_len, head_dim_v]; by default a new array of q's library
        dropout   a probability other than the spec's own; seed: an integer below 2^64 that decides what is dropped
        stream    the address of a CUDA stream; by default the one on which q's library works now
        captured  tensors and params whose names are taken by the arguments above

        All other keywords are the spec's captured tensors (every one, contiguous) and params (those that differ from their
        defaults). lse is [batch, num_q_heads, q_len] in f32, the natural logarithm; -inf in a row without keys, whose o is 0.
        Raises ArgumentError that names what does not fit.
        """
        bound = self.bind(captured, **tensors_and_params)
        return bound(q, k, v, return_lse=return_lse, out=out, dropout=dropout, seed=seed, stream=stream)

    def bind(self, captured: Mapping[str, Any] = {}, /, **tensors_and_params: Any) -> "BoundKernel":
        """The kernel with its captured tensors and params: names are matched here, and not at each call.

        It keeps the tensors' memory and sees what is written there later.
        """
        tensors, params = {}, {}
        for name, value in {**captured, **tensors_and_params}.items():
            if name in self._params:
                params[name] = value
            elif name in self._tensors:
                tensors[name] = self._view(value, f"tensor '{name}'")
            else:
                known = ", ".join([*self._tensors, *self._params]) or "none"
                raise ArgumentError(f"'{name}' is neither a tensor nor a param of the spec: it has {known}")
        for name, tensor in self._tensors.items():
            if name not in tensors:
                raise ArgumentError(f"tensor '{name}' is missing: pass {name}=, {tensor.dtype}[{', '.join(tensor.extents)}]")
        return BoundKernel(self, _core.Captured(self.spec._core, tensors, params), tensors)

    def backward(self, q: Any, k: Any, v: Any, o: Any, lse: Any, d_o: Any, *, d_lse: Any = None, dropout: Optional[float] = None,
                 seed: int = 0, stream: Optional[int] = None, captured: Mapping[str, Any] = {}, **tensors_and_params: Any) -> Gradients:
        """The backward pass of a call, for a kernel that was compiled with backward=True.

        q, k, v, dropout, seed and the captured values are those of the forward call, o and lse what it gave; d_o (like o, of
        any strides) and d_lse (like lse; none: zero) are the loss's gradients. On the CPU it gives the same bits for any number of
        threads; on a GPU sums may be added in another order each time.
        Raises ArgumentError that names what does not fit.
        """
        bound = self.bind(captured, **tensors_and_params)
        views = (self._view(q, "q"), self._view(k, "k"), self._view(v, "v"), self._view(o, "o"), self._view(lse, "lse"),
                 self._view(d_o, "d_o"))
        d_q, d_k, d_v = (arrays.empty(like, view.shape, view.dtype) for like, view in zip((q, k, v), views))
        of_tensors, of_params = self._gradients
        gradients = {name: arrays.empty(q, bound._tensors[name].shape, "f32") for name in of_tensors if name in bound._tensors}
        gradients.update({name: arrays.empty(q, (), "f32") for name in of_params})
        arguments = (
            *views[:5], bound._captured, dropout, seed, views[5], None if d_lse is None else self._view(d_lse, "d_lse"),
            self._view(d_q, "d_q"), self._view(d_k, "d_k"), self._view(d_v, "d_v"),
            {name: self._view(array, name) for name, array in gradients.items()})
        if self.device == "cpu":
            self._core.backward(*arguments)
        else:
            workspace = arrays.Workspace(q)
            self._core.backward(*arguments, arrays.current_stream(q) if stream is None else stream, workspace)
        return Gradients(d_q, d_k, d_v, gradients)

    def explain(self, **problem: Any) -> Explanation:
        """As `Spec.explain`, for the kernel's own target and plan."""
        return self.spec.explain(self.target, self.plan, **problem)

    @property
    def target(self) -> str:
        """What it was compiled for: "h200", "host", ..."""
        return self._core.target

    @property
    def plan(self) -> str:
        """The plan: tile sizes and the like."""
        return self._core.plan

    @property
    def plans(self) -> Tuple[KernelPlan, ...]:
        """All plans of the forward pass: more than one only on a GPU, where large and small calls have code of their own."""
        return tuple(KernelPlan(*plan) for plan in self._core.plans)

    @property
    def times(self) -> CompileTimes:
        """Where the time of this compile went."""
        return CompileTimes(**self._core.times)

    def __repr__(self) -> str:
        return f"<facet.Kernel {self.spec.name} on {self.target}: {self.plan}>"

    def _view(self, array: Any, name: str) -> "_core.View":
        view = arrays.view(array, name)
        arrays.check_device(view, name, self.device, self._cuda_device)
        return view


class BoundKernel:
    """A kernel with its captured tensors and params: made by `Kernel.bind`."""

    def __init__(self, kernel: Kernel, captured: "_core.Captured", tensors: Dict[str, "_core.View"]):
        self.kernel = kernel
        self._captured = captured
        self._tensors = tensors

    def __call__(self, q: Any, k: Any, v: Any, *, return_lse: bool = False, out: Any = None, dropout: Optional[float] = None,
                 seed: int = 0, stream: Optional[int] = None) -> Union[Any, Tuple[Any, Any]]:
        """As `Kernel.__call__`."""
        kernel, core = self.kernel, self.kernel._core
        inputs = kernel._view(q, "q"), kernel._view(k, "k"), kernel._view(v, "v")
        if len(inputs[0].shape) != 4:
            raise ArgumentError(f"q has {len(inputs[0].shape)} dimensions: it must have four, [batch, heads, length, dim]")
        rows = inputs[0].shape[:3]
        o = out if out is not None else arrays.empty(q, (*rows, kernel.spec.head_dim_v), kernel.spec.dtype)
        lse = arrays.empty(q, rows, "f32") if return_lse else None
        views = *inputs, kernel._view(o, "out"), None if lse is None else kernel._view(lse, "lse")
        if kernel.device == "cpu":
            core.forward(*views, self._captured, dropout, seed)
        else:
            size = core.workspace_bytes(*views[:4], self._captured)
            workspace = arrays.Workspace(q)
            core.forward(*views, self._captured, dropout, seed, arrays.current_stream(q) if stream is None else stream,
                         workspace(size) if size else 0, size)
        return (o, lse) if return_lse else o
