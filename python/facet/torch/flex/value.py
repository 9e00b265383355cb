"""What a traced program computes with: tensors that know an expression instead of numbers."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple

import torch

from .errors import TraceError, error
from .expr import BOOL, F32, I32, Node

Element = Callable[..., Node]  # of the indices, one a dimension

_DTYPES = {BOOL: torch.bool, I32: torch.int32, F32: torch.float32}


class Value(torch.Tensor):
    """A tensor of the program that is traced. Its `facet_shape` is mostly (), as hooks see one score; a row of a captured table
    has more, and then `facet_at` gives the expression of each element."""

    facet_tracer: Any
    facet_shape: Tuple[int, ...]
    facet_at: Element
    facet_dtype: torch.dtype
    facet_extents: Tuple[Optional[Node], ...]  # of dimensions that are a captured tensor's: its extent, which may differ from call to call

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        tracer = _tracer_of((args, kwargs))
        if tracer is None or not tracer.is_active:
            raise TraceError("a value of a score_mod or mask_mod was used after it ended: it is known in kernels alone")
        return tracer.call(func, args, kwargs or {})

    @property
    def facet_node(self) -> Node:
        """The expression of the only element."""
        if self.facet_shape:
            raise error(f"a tensor of shape {list(self.facet_shape)} stands where one number must: index it, or reduce it")
        return self.facet_at()


def make(tracer: Any, shape: Sequence[int], at: Element, dtype: Optional[torch.dtype] = None,
         extents: Optional[Sequence[Optional[Node]]] = None) -> Value:
    shape = tuple(shape)
    if dtype is None:
        dtype = _DTYPES[at(*(tracer.graph.literal(0) for _ in shape)).type]
    with torch._C.DisableTorchFunction():
        value = torch.Tensor._make_subclass(Value, tracer.meta(dtype, len(shape)))
    value.facet_tracer, value.facet_shape, value.facet_at, value.facet_dtype = tracer, shape, at, dtype
    value.facet_extents = tuple(extents) if extents is not None else (None,) * len(shape)
    return value


def scalar(tracer: Any, node: Node, dtype: Optional[torch.dtype] = None) -> Value:
    return make(tracer, (), lambda: node, dtype)


def values_in(tree: Any) -> list:
    """All Values in nested tuples, lists and dicts."""
    found, todo = [], [tree]
    while todo:
        item = todo.pop()
        if isinstance(item, Value):
            found.append(item)
        elif isinstance(item, (tuple, list)):
            todo += item
        elif isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, slice):
            todo += (item.start, item.stop, item.step)
    return found


def _tracer_of(tree: Any) -> Any:
    found = values_in(tree)
    return found[0].facet_tracer if found else None


def broadcast_shape(shapes: Iterable[Tuple[int, ...]]) -> Tuple[int, ...]:
    """torch.broadcast_shapes, which first imports what PyTorch knows of symbolic shapes: two seconds of a process' first call."""
    given = list(shapes)
    reversed_shape: List[int] = []
    for sizes in zip_longest(*(reversed(shape) for shape in given), fillvalue=1):
        wanted = {size for size in sizes if size != 1}
        if len(wanted) > 1:
            raise RuntimeError(f"shapes {', '.join(str(list(shape)) for shape in given)} do not broadcast to one")
        reversed_shape.append(wanted.pop() if wanted else 1)
    return tuple(reversed(reversed_shape))
