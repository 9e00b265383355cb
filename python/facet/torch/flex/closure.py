"""What a program captures: numbers, tensors, and all else that decides what it computes.

`captures_of` walks a function's closure, its globals and the functions it calls. It makes two things of what it finds: a
signature, which is the key of the cache of traces; and a copy of the function whose numbers are replaced by stand-ins, so that
they become params.
"""

from __future__ import annotations

import enum
import functools
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

_PLAIN = (str, bytes, bool, complex, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size,
          type, enum.Enum, types.ModuleType, types.BuiltinFunctionType, types.BuiltinMethodType, torch._ops.OpOverload,
          torch._ops.OpOverloadPacket)


class Captures:
    """numbers     each captured number, where it may become a param
    tensors        each captured tensor
    signature      what else there is; None where it cannot be known, as an object's attributes are found only by tracing"""

    def __init__(self) -> None:
        self.numbers: List[Any] = []
        self.tensors: List[torch.Tensor] = []
        self.signature: Optional[List[Any]] = []

    def add(self, item: Any) -> None:
        if self.signature is not None:
            self.signature.append(item)


def captures_of(function: Callable) -> Captures:
    captures = Captures()
    _walk(function, captures, {}, None)
    return captures


def rebuilt(function: Callable, stand_in: Callable[[int, Any], Any]) -> Callable:
    """The function with `stand_in(i, number)` for its i-th captured number."""
    captures = Captures()
    return _walk(function, captures, {}, stand_in)


def _walk(item: Any, captures: Captures, seen: Dict[int, Any], stand_in: Optional[Callable], is_number: bool = True) -> Any:
    """Adds what an object captures; returns it, or with stand_in what stands for it. Numbers in lists and the like stay what they
    are (is_number): a program may count by them."""
    kind = type(item)
    if isinstance(item, torch.Tensor):
        captures.tensors.append(item)
        wants_gradient = item.requires_grad and torch.is_grad_enabled()
        captures.add(("tensor", item.shape, item.dtype, item.device.type, wants_gradient))
        return item
    if kind in (int, float):
        if not is_number:
            captures.add((kind, item))
            return item
        captures.numbers.append(item)
        captures.add((kind,))
        return item if stand_in is None else stand_in(len(captures.numbers) - 1, item)
    if isinstance(item, _PLAIN):
        captures.add((kind, item))
        return item
    if kind.__module__ == "numpy" and getattr(item, "ndim", 1) == 0:
        captures.add((kind, item.item()))
        return item
    if id(item) in seen:
        number, stands = seen[id(item)]
        captures.add(("again", number))
        return item if stands is None else stands
    seen[id(item)] = (len(seen), None)
    if kind is types.FunctionType:
        return _walk_function(item, captures, seen, stand_in)
    if kind is functools.partial:
        captures.add(("partial", len(item.args), tuple(item.keywords)))
        function = _walk(item.func, captures, seen, stand_in)
        args = [_walk(arg, captures, seen, stand_in) for arg in item.args]
        keywords = {name: _walk(value, captures, seen, stand_in) for name, value in item.keywords.items()}
        return functools.partial(function, *args, **keywords) if stand_in else item
    if kind in (list, tuple):
        captures.add((kind, len(item)))
        items = [_walk(element, captures, seen, stand_in, False) for element in item]
        return kind(items) if stand_in else item
    if kind is dict:
        captures.add((kind, tuple(map(repr, item))))
        values = {key: _walk(value, captures, seen, stand_in, False) for key, value in item.items()}
        return values if stand_in else item
    captures.signature = None  # an object: its attributes may change, and it may hold tensors
    return item


@functools.lru_cache(maxsize=4096)
def _global_names(code: types.CodeType) -> Tuple[str, ...]:
    """Names that a function and those inside it may take from its globals."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _global_names(constant)
    return tuple(dict.fromkeys(names))


def _walk_function(function: types.FunctionType, captures: Captures, seen: Dict[int, Any], stand_in: Optional[Callable]) -> Any:
    if (function.__module__ or "").partition(".")[0] == "torch":
        captures.add(("function", function))
        cells = function.__closure__ or ()
        if not cells:
            return function  # PyTorch's own, as it is; its and_masks has masks in its closure
    code = function.__code__
    captures.add(("function", code, len(function.__defaults__ or ())))
    twin = None
    if stand_in is not None:
        twin = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__,
                                  tuple(types.CellType() for _ in function.__closure__ or ()))
        twin.__kwdefaults__ = function.__kwdefaults__
        twin.__dict__.update(function.__dict__)
        seen[id(function)] = (seen[id(function)][0], twin)

    for place, cell in enumerate(function.__closure__ or ()):
        try:
            content = cell.cell_contents
        except ValueError:  # assigned later, or never
            captures.add(("empty",))
            continue
        stands = _walk(content, captures, seen, stand_in)
        if twin is not None and twin.__closure__ is not None:
            twin.__closure__[place].cell_contents = stands
    for name, default in (function.__kwdefaults__ or {}).items():
        captures.add(("keyword", name))
        _walk(default, captures, seen, None, False)
    defaults = [_walk(default, captures, seen, stand_in) for default in function.__defaults__ or ()]
    changed = {}
    if (function.__module__ or "").partition(".")[0] != "torch":
        for name in _global_names(code):
            if name in function.__globals__:
                captures.add(("global", name))
                content = function.__globals__[name]
                stands = _walk(content, captures, seen, stand_in)
                if stands is not content:
                    changed[name] = stands
    if twin is None:
        return function
    if defaults:
        twin.__defaults__ = tuple(defaults)
    if changed:
        other = types.FunctionType(code, {**function.__globals__, **changed}, function.__name__, twin.__defaults__, twin.__closure__)
        other.__kwdefaults__ = twin.__kwdefaults__
        other.__dict__.update(twin.__dict__)
        return other
    return twin
