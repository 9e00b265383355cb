"""PyTorch's functions that look at a tensor's shape: indexing, reductions over rows of a captured table, conversions."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch

from .errors import error
from .expr import BOOL, I32, Node
from .value import Value, make, scalar

TABLE: Dict[str, Callable[..., Any]] = {}

MOST_STEPS = 4096  # of a reduction, in the language


def _named(*names: str) -> Callable:
    def add(function: Callable) -> Callable:
        for name in names:
            TABLE[name] = function
        return function

    return add


# Indexing.

_Place = Callable[[Sequence[Node]], Node]  # where a dimension is read, from the indices of the result


@_named("getitem")
def getitem(tracer: Any, base: Value, index: Any) -> Value:
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(item is not None and item is not Ellipsis for item in items)
    rank = len(base.facet_shape)
    if used > rank:
        raise error(f"{used} indices of a tensor that has {rank} dimensions")
    fill = [slice(None)] * (rank - used)
    at = next((i for i, item in enumerate(items) if item is Ellipsis), None)
    items = items + fill if at is None else items[:at] + fill + items[at + 1:]

    shape: List[int] = []
    extents: List[Optional[Node]] = []
    places: List[_Place] = []  # of each dimension of `base`
    for item in items:
        if item is None:
            shape.append(1)
            extents.append(None)
            continue
        size, extent = base.facet_shape[len(places)], base.facet_extents[len(places)]
        if isinstance(item, slice):
            start, stop, step = _bounds(item, size)
            places.append(_sliced(tracer, len(shape), start, step))
            shape.append(len(range(start, stop, step)))
            extents.append(extent if item == slice(None) else None)
        else:
            places.append(_fixed(_wrapped(tracer, _index(tracer, item), size, extent)))
    return make(tracer, shape, lambda *ix: base.facet_at(*(place(ix) for place in places)), base.facet_dtype, extents)


def _index(tracer: Any, item: Any) -> Node:
    value = tracer.value(item)
    node = value.facet_node
    if node.type == BOOL:
        raise error("indexing by a bool, which selects elements: use torch.where")
    if node.type != I32:
        raise error("indexing by a floating-point number: convert it, .int()")
    return node


def _wrapped(tracer: Any, node: Node, size: int, extent: Optional[Node]) -> Node:
    """The index as PyTorch counts it: from the end where it is negative."""
    g = tracer.graph
    if node.op == "literal":
        if not -size <= node.data < size:
            raise error(f"index {node.data} of a dimension of {size}")
        return g.literal(node.data % size)
    if not node.may_be_negative:
        return node
    return g.where(g.binary("<", node, g.literal(0)), g.binary("+", node, extent or g.literal(size)), node)


def _bounds(item: slice, size: int) -> Tuple[int, int, int]:
    if any(isinstance(part, Value) for part in (item.start, item.stop, item.step)):
        raise error("a slice whose bounds are known only in a kernel")
    return item.indices(size)


def _sliced(tracer: Any, d: int, start: int, step: int) -> _Place:
    return lambda ix: _line(tracer, ix[d], start, step)


def _fixed(node: Node) -> _Place:
    return lambda ix: node


def _line(tracer: Any, index: Node, start: int, step: int) -> Node:
    g = tracer.graph
    if step != 1:
        index = g.binary("*", index, g.literal(step))
    return index if start == 0 else g.binary("+", index, g.literal(start))


@_named("unsqueeze")
def unsqueeze(tracer: Any, value: Value, dim: int) -> Value:
    dim = dim if dim >= 0 else dim + len(value.facet_shape) + 1
    return getitem(tracer, value, (*[slice(None)] * dim, None))


@_named("squeeze")
def squeeze(tracer: Any, value: Value, dim: Optional[int] = None) -> Value:
    shape = value.facet_shape
    dims = range(len(shape)) if dim is None else [dim % len(shape)] if shape else []
    return getitem(tracer, value, tuple(0 if d in dims and size == 1 else slice(None) for d, size in enumerate(shape)))


@_named("select", "index_select")
def select(tracer: Any, value: Value, dim: int, index: Any) -> Value:
    return getitem(tracer, value, (*[slice(None)] * (dim % len(value.facet_shape)), index))


@_named("view", "reshape", "flatten", "expand", "expand_as", "view_as")
def reshape(tracer: Any, value: Value, *shape: Any, **_: Any) -> Value:
    if not value.facet_shape:
        return value  # one number, under any shape that one number has
    raise error("reshaping inside a score_mod or mask_mod: do it before")


# Reductions over dimensions that a captured table brings.


def _reduce(tracer: Any, op: str, value: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    shape = value.facet_shape
    dims = sorted(d % len(shape) for d in ([dim] if isinstance(dim, int) else range(len(shape)) if dim is None else dim)) if shape else []
    steps = 1
    for d in dims:
        steps *= shape[d]
    if steps > 16 * MOST_STEPS or any(shape[d] > MOST_STEPS for d in dims):
        raise error(f"a reduction over {steps} elements: at most {MOST_STEPS} a dimension")
    if any(shape[d] == 0 for d in dims):
        raise error("a reduction over no elements")
    g = tracer.graph

    def at(*kept: Node) -> Node:
        counters = [g.new_index() for _ in dims]
        rest = iter(kept)
        indices = []
        for d in range(len(shape)):
            if d in dims:
                if keepdim:
                    next(rest)
                indices.append(counters[dims.index(d)])
            else:
                indices.append(next(rest))
        body = value.facet_at(*indices)
        body = g.bool(body) if op in ("any", "all") else g.number(body)
        for d, counter in reversed(list(zip(dims, counters))):
            body = g.reduce(op, body, counter, shape[d])
        return body

    result = [1 if d in dims else size for d, size in enumerate(shape) if keepdim or d not in dims]
    if result:
        return make(tracer, result, at)
    return scalar(tracer, at())


for _op, _names in {"sum": "sum", "any": "any", "all": "all", "max": "amax", "min": "amin"}.items():
    _named(*_names.split())(lambda tracer, value, dim=None, keepdim=False, op=_op, **_: _reduce(tracer, op, value, dim, keepdim))


def _extreme(op: str) -> Callable:
    def function(tracer: Any, value: Value, other: Any = None, **keywords: Any) -> Value:
        if other is None and not keywords:
            return _reduce(tracer, op, value)
        if isinstance(other, int) and not isinstance(other, bool) or keywords:
            raise error(f"torch.{op} over a dimension, which also gives indices: use torch.a{op}")
        return tracer.elementwise("minimum" if op == "min" else "maximum", value, other)

    return function


_named("max")(_extreme("max"))
_named("min")(_extreme("min"))


@_named("mean")
def mean(tracer: Any, value: Value, dim: Any = None, keepdim: bool = False, **_: Any) -> Value:
    total = _reduce(tracer, "sum", value, dim, keepdim)
    count = 1
    for before in value.facet_shape:
        count *= before
    for after in total.facet_shape:
        count //= after
    return tracer.elementwise("div", total, float(count))


@_named("dot", "inner", "vdot", "matmul")
def dot(tracer: Any, a: Any, b: Any) -> Value:
    a, b = tracer.value(a), tracer.value(b)
    if len(a.facet_shape) != 1 or a.facet_shape != b.facet_shape:
        raise error(f"a product of shapes {list(a.facet_shape)} and {list(b.facet_shape)}: two rows of one length are multiplied, no matrices")
    return _reduce(tracer, "sum", tracer.elementwise("mul", a, b))


# Types and constants.


_TO = {torch.bool: "bool", torch.int32: "i32", torch.int64: "i32", torch.float32: "f32", torch.float64: "f32", torch.float16: "f32",
       torch.bfloat16: "f32"}
_NAMED_TO = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16, "int": torch.int32,
             "long": torch.int64, "bool": torch.bool}


def convert(tracer: Any, value: Value, dtype: torch.dtype) -> Value:
    """The value as another type. Narrower floats keep an f32's digits; whole numbers have 32 bits."""
    if dtype not in _TO:
        raise error(f"a conversion to {dtype}: Facet has bool, 32-bit whole numbers and float32 in kernels")
    method = getattr(tracer.graph, _TO[dtype])
    return make(tracer, value.facet_shape, lambda *ix: method(value.facet_at(*ix)), dtype)


@_named("to", "type", "type_as", "_to_copy")
def to(tracer: Any, value: Value, *args: Any, **keywords: Any) -> Value:
    wanted = value.facet_dtype
    for arg in (*args, *keywords.values()):
        if isinstance(arg, torch.dtype):
            wanted = arg
        elif isinstance(arg, torch.Tensor):
            wanted = tracer.dtype_of(arg)
    return convert(tracer, value, wanted)


for _name, _dtype in _NAMED_TO.items():
    _named(_name)(lambda tracer, value, dtype=_dtype, **_: convert(tracer, value, dtype))


def _constant(tracer: Any, like: Value, number: Any, dtype: Optional[torch.dtype], shape: Sequence[int] = ()) -> Value:
    value = tracer.value(number)
    if dtype is None:
        dtype = like.facet_dtype
    filled = make(tracer, shape, lambda *_: value.facet_node)
    return convert(tracer, filled, dtype)


def _size(shape: Sequence[Any]) -> Tuple[int, ...]:
    flat = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else tuple(shape)
    return tuple(int(size) for size in flat)


for _fill, _suffix in ((0, "zeros"), (1, "ones")):
    _named(f"{_suffix}_like")(lambda tracer, value, dtype=None, fill=_fill, **_: _constant(tracer, value, fill, dtype, value.facet_shape))
    _named(f"new_{_suffix}")(lambda tracer, value, *shape, size=None, dtype=None, fill=_fill, **_: _constant(
        tracer, value, fill, dtype, _size((size,) if size is not None else shape)))


@_named("full_like")
def full_like(tracer: Any, value: Value, fill_value: Any, dtype: Optional[torch.dtype] = None, **_: Any) -> Value:
    return _constant(tracer, value, fill_value, dtype, value.facet_shape)


@_named("new_full")
def new_full(tracer: Any, value: Value, size: Any, fill_value: Any, dtype: Optional[torch.dtype] = None, **_: Any) -> Value:
    return _constant(tracer, value, fill_value, dtype, _size((size,)))


@_named("new_tensor")
def new_tensor(tracer: Any, value: Value, data: Any, dtype: Optional[torch.dtype] = None, **_: Any) -> Value:
    return tracer.value(torch.tensor(data, dtype=dtype))


# What a program may ask of a tensor.


@_named("dim", "ndimension", "ndim", "get:ndim")
def dim(tracer: Any, value: Value) -> int:
    return len(value.facet_shape)


@_named("size")
def size(tracer: Any, value: Value, dim: Optional[int] = None) -> Union[int, torch.Size]:
    return torch.Size(value.facet_shape) if dim is None else value.facet_shape[dim]


@_named("get:shape")
def shape_of(tracer: Any, value: Value) -> torch.Size:
    return torch.Size(value.facet_shape)


@_named("numel", "nelement")
def numel(tracer: Any, value: Value) -> int:
    return torch.Size(value.facet_shape).numel()


@_named("get:dtype")
def dtype_of(tracer: Any, value: Value) -> torch.dtype:
    return value.facet_dtype


@_named("get:device")
def device_of(tracer: Any, value: Value) -> torch.device:
    return tracer.device


@_named("get:layout")
def layout_of(tracer: Any, value: Value) -> torch.layout:
    return torch.strided


@_named("get:requires_grad", "get:is_sparse", "get:is_quantized", "get:is_nested", "is_complex", "get:is_meta")
def no(tracer: Any, value: Value) -> bool:
    return False


@_named("is_floating_point")
def is_floating_point(tracer: Any, value: Value) -> bool:
    return value.facet_dtype.is_floating_point


@_named("get:is_cuda")
def is_cuda(tracer: Any, value: Value) -> bool:
    return tracer.device.type == "cuda"


@_named("detach")
def detach(tracer: Any, value: Value) -> Value:
    raise error("detach() inside a score_mod: detach the captured tensor before")


@_named("repr", "format", "str")
def words(tracer: Any, value: Value, *_: Any, **__: Any) -> str:
    return f"<a value of a traced program: {value.facet_dtype}, {list(value.facet_shape)}>"
