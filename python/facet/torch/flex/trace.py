"""Tracing: a score_mod or mask_mod is called once, with Values in place of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode

from . import closure, functions, structure
from .errors import Specialise, TraceError, error
from .expr import BOOL, F32, I32, Graph, Node
from .value import Value, broadcast_shape, make, scalar, values_in

_WHOLE = (torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8)
_TABLE_TYPES = {torch.float32: F32, torch.float16: F32, torch.bfloat16: F32, torch.float64: F32, torch.bool: BOOL, **{d: I32 for d in _WHOLE}}
_NUMBER_WANTED = {"__bool__", "__int__", "__float__", "__index__", "__complex__", "item", "tolist"}


@dataclass(frozen=True)
class Param:
    """A number that the program reads: the captured number or the tensor of one element at a place."""

    source: str  #: "number" or "tensor"
    place: int  #: among the captured numbers or the traced tensors


@dataclass(frozen=True)
class Table:
    """A captured tensor."""

    place: int  #: among the traced tensors


class Trace:
    """A traced program: what it computes, and what it captured.

    tensors      the captured tensors that it reads, in the order in which it first does
    extents      the nodes that stand for a tensor's extents, by (tensor, dimension)
    is_complete  whether all that it reads was known before: false where it made tensors, or found some in objects
    """

    def __init__(self, graph: Graph, tensors: List[torch.Tensor]):
        self.graph = graph
        self.tensors = tensors
        self.score: Optional[Node] = None
        self.mask: Optional[Node] = None
        self.is_complete = True


class Tracer(TorchFunctionMode):
    def __init__(self, device: torch.device):
        super().__init__()
        self.graph = Graph()
        self.device = device
        self.is_active = True
        self.tensors: List[torch.Tensor] = []
        self.made_tensors = False
        self._places: Dict[int, int] = {}
        self._meta: Dict[Any, torch.Tensor] = {}

    def meta(self, dtype: torch.dtype, rank: int) -> torch.Tensor:
        found = self._meta.get((dtype, rank))
        if found is None:
            found = self._meta[dtype, rank] = torch.empty((1,) * rank, dtype=dtype, device="meta")
        return found

    # What programs call.

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if values_in((args, kwargs)):
            return self.call(func, args, kwargs)
        if getattr(func, "__name__", "") != "__get__":
            self.made_tensors = True
        return func(*args, **kwargs)

    def call(self, func: Callable, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        name = _name_of(func)
        if name in _stand_ins:
            with self:
                return _stand_ins[name](*args, **kwargs)
        kwargs = {key: value for key, value in kwargs.items() if key != "out" or value is not None}
        if name in _NUMBER_WANTED:
            return self._number_wanted(name, args[0])
        if name in ("setitem",) or name.endswith("_") and not name.startswith("get:") and name[:-1] in functions.TABLE:
            raise error(f"{name} changes a tensor in place: make a new one")
        try:
            if name in structure.TABLE:
                function = structure.TABLE[name]
                if name == "getitem":
                    return function(self, self.value(args[0]), args[1])
                first = args[0] if args else kwargs.pop("input", None)
                return function(self, self.value(first), *args[1:], **kwargs)
            if name.startswith("r") and name not in functions.TABLE and name[1:] in functions.TABLE and len(args) == 2:
                return self.elementwise(name[1:], args[1], args[0])
            if name in functions.TABLE:
                return self.elementwise(name, *args, **kwargs)
        except (TraceError, Specialise):
            raise
        except (TypeError, OverflowError, ValueError) as problem:
            raise error(f"{name}: {problem}") from None
        self._specialise(values_in((args, kwargs)))
        raise error(f"torch.{name} is nothing that Facet can compute for each score; do it before, and capture the result")

    def elementwise(self, name: str, *args: Any, **kwargs: Any) -> Value:
        function = functions.TABLE[name]
        if "input" in kwargs:
            args = (kwargs.pop("input"), *args)
        if "other" in kwargs:
            args = (*args, kwargs.pop("other"))
        keywords = {key: self.value(value) if key in ("min", "max") and value is not None else value for key, value in kwargs.items()}
        operands: List[Value] = []
        settings: List[Any] = []
        for arg in args:
            if arg is None or isinstance(arg, str) or name in _SETTINGS and operands and len(operands) >= _SETTINGS[name]:
                settings.append(arg)
            else:
                operands.append(self.value(arg))
        tensors = operands + [value for value in keywords.values() if isinstance(value, Value)]
        shape = broadcast_shape(value.facet_shape for value in tensors)
        given: List[Optional[Value]] = [*operands]
        if name in ("clamp", "clip") and settings:  # clamp(x, None, high), clamp(x, low, None)
            given = [None if arg is None else self.value(arg) for arg in args]
            settings = []

        def element(value: Any, ix: Sequence[Node]) -> Any:
            if not isinstance(value, Value):
                return value
            own = ix[len(ix) - len(value.facet_shape):]
            zero = self.graph.literal(0)
            return value.facet_at(*(zero if size == 1 else i for i, size in zip(own, value.facet_shape)))

        def at(*ix: Node) -> Node:
            return function(self.graph, *(element(value, ix) for value in given), *settings,
                            **{key: element(value, ix) for key, value in keywords.items()})

        if not shape:
            return scalar(self, at())
        at(*(self.graph.literal(0) for _ in shape))  # errors belong to this line
        return make(self, shape, at)

    # Values.

    def value(self, item: Any) -> Value:
        """Anything that an operation takes, as a Value."""
        if isinstance(item, Value):
            return item
        if isinstance(item, torch.Tensor):
            return self._captured(item)
        if isinstance(item, (bool, int, float)):
            try:
                return scalar(self, self.graph.literal(item))
            except OverflowError as problem:
                raise error(str(problem)) from None
        if hasattr(item, "item") and getattr(item, "ndim", 1) == 0:  # a number of NumPy
            return self.value(item.item())
        raise error(f"a {type(item).__name__} stands where a tensor or a number must")

    def dtype_of(self, tensor: torch.Tensor) -> torch.dtype:
        return tensor.facet_dtype if isinstance(tensor, Value) else tensor.dtype

    def number(self, place: int, number: Any) -> Value:
        """A captured number that becomes a param."""
        kind = I32 if isinstance(number, int) else F32
        node = self.graph.node("param", kind, data=Param("number", place), may_be_negative=not (kind == I32 and number >= 0))
        return scalar(self, node, torch.int64 if kind == I32 else torch.float32)

    def _captured(self, tensor: torch.Tensor) -> Value:
        kind = _TABLE_TYPES.get(tensor.dtype)
        if kind is None:
            raise error(f"a captured tensor is {tensor.dtype}, which Facet does not have: convert it before")
        place = self._places.get(id(tensor))
        if place is None:
            place = self._places[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        if tensor.dim() == 0:
            if tensor.device.type == "cpu" and kind != BOOL:
                return scalar(self, self.graph.node("param", kind, data=Param("tensor", place)), tensor.dtype)
            return scalar(self, self.graph.node("read", kind, (self.graph.literal(0),), Table(place)), tensor.dtype)
        negative = tensor.dtype not in (torch.uint8, torch.bool)
        extents = [self.graph.node("extent", I32, data=(place, d), may_be_negative=False) for d in range(tensor.dim())]
        return make(self, tensor.shape, lambda *ix: self.graph.node("read", kind, ix, Table(place), negative), tensor.dtype, extents)

    # What must be known now.

    def _number_wanted(self, name: str, value: Value) -> Any:
        self._specialise([value])
        if name == "__bool__":
            raise error("a branch on a number that only the kernel knows: Python's `if`, `and`, `or`, `not` and chained comparisons need it now; "
                        "write torch.where, &, | and ~")
        raise error(f"{name.strip('_')}() of a number that only the kernel knows")

    def _specialise(self, values: Sequence[Value]) -> None:
        """Where captured numbers alone decide them, these become part of the program."""
        if any(value.facet_shape for value in values):
            return
        nodes = [value.facet_node for value in values]
        if not all(node.only_params for node in nodes):
            return
        places = frozenset(place for node in nodes for place in _number_places(node))
        if places:
            raise Specialise(places)


_stand_ins: Dict[str, Callable] = {}


def trace_as(operator: Any, function: Callable) -> None:
    """Where a score_mod or mask_mod calls a custom operator (torch.ops.library.name), `function` is traced in its place."""
    _stand_ins[_name_of(operator)] = function


# Functions whose later arguments are settings, not tensors: how many tensors come before.
_SETTINGS = {"gelu": 1, "softplus": 1, "leaky_relu": 1, "elu": 1, "relu": 1, "round": 1}


def _name_of(func: Any) -> str:  # a function, an operator, or an attribute's __get__
    name = getattr(func, "__name__", str(func))
    if name == "__get__":
        return "get:" + func.__self__.__name__
    if isinstance(func, torch._ops.OpOverloadPacket):
        return name if func._qualified_op_name.startswith("aten::") else func._qualified_op_name
    if isinstance(func, torch._ops.OpOverload):
        return func._schema.name.removeprefix("aten::")
    if name in _NUMBER_WANTED:
        return name
    return name[2:-2] if name.startswith("__") and name.endswith("__") else name


def _number_places(node: Node) -> List[int]:
    if node.op == "param":
        return [node.data.place] if node.data.source == "number" else []
    return [place for arg in node.args for place in _number_places(arg)]


def trace(score_mod: Optional[Callable], mask_mod: Optional[Callable], device: torch.device) -> Tuple[Trace, FrozenSet[int]]:
    """Traces both; also returns which captured numbers became part of the program.

    Numbers are counted through both functions: those of score_mod come first. Raises TraceError naming the line and operation.
    """
    fixed: FrozenSet[int] = frozenset()
    while True:
        try:
            return _trace(score_mod, mask_mod, device, fixed), fixed
        except Specialise as wanted:
            if wanted.params <= fixed:
                raise error("a number that only the kernel knows decides what is computed") from None
            fixed |= wanted.params


def _trace(score_mod: Optional[Callable], mask_mod: Optional[Callable], device: torch.device, fixed: FrozenSet[int]) -> Trace:
    tracer = Tracer(device)
    result = Trace(tracer.graph, tracer.tensors)
    counted = 0

    def stand_in(place: int, number: Any) -> Any:
        nonlocal counted
        counted = max(counted, place + 1)
        place += offset
        fits = isinstance(number, float) or -(2**31) <= number < 2**31
        return number if place in fixed or not fits else tracer.number(place, number)

    offset = 0
    b, h, q_idx, kv_idx = (scalar(tracer, tracer.graph.name(name)) for name in ("b", "h", "q_idx", "kv_idx"))
    known: set = set()
    try:
        if score_mod is not None:
            score = scalar(tracer, tracer.graph.name("score"))
            result.score = _result(tracer, "score_mod", closure.rebuilt(score_mod, stand_in), score, b, h, q_idx, kv_idx)
            result.score = tracer.graph.number(result.score)
            offset += counted
        if mask_mod is not None:
            result.mask = _result(tracer, "mask_mod", closure.rebuilt(mask_mod, stand_in), b, h, q_idx, kv_idx)
            result.mask = tracer.graph.bool(result.mask)
    finally:
        tracer.is_active = False
    for mod in (score_mod, mask_mod):
        if mod is not None:
            known |= {id(tensor) for tensor in closure.captures_of(mod).tensors}
    result.is_complete = not tracer.made_tensors and all(id(tensor) in known for tensor in tracer.tensors)
    return result


def _result(tracer: Tracer, what: str, function: Callable, *args: Value) -> Node:
    with tracer:
        returned = function(*args)
        if returned is None:
            raise TraceError(f"{what} {getattr(function, '__name__', '')} returns None: return the result")
        value = tracer.value(returned)
    if value.facet_shape:
        raise TraceError(f"{what} {getattr(function, '__name__', '')} returns a tensor of shape {list(value.facet_shape)}: it must be one number")
    return value.facet_node
