"""Programs: a trace in the spec language.

A program's text knows no length and no captured number: lengths have the language's names, and numbers are params. Two things are
written as literals at first, since kernels are better for it: whole numbers that are divided by, such as the size of a block, and
extents of tensors that are not those of the call, such as the number of buckets. Where a second value is met, a param takes its
place, so that no value after that compiles anything.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

import torch

from ...errors import ArgumentError
from ..kernels import DTYPES
from .errors import TraceError
from .expr import F32, I32, REDUCTIONS, Node, differentiable_sources, is_minus_infinity, reachable
from .trace import Trace

_INFIX = {"+", "-", "*", "/", "%", "**", "<<", ">>", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "and", "or"}
_PREFIX = {"neg": "-", "~": "~", "not": "not "}
_DIVIDING = {"/", "%", "<<", ">>"}
MOST_PARAMS = 16  # of a spec
MOST_TENSORS = 16

_Dimension = Tuple[int, int]  # a tensor and which of its dimensions
_Chosen = Tuple[Set[int], List[_Dimension]]  # the divisors and the extents that are params


class Sizes(NamedTuple):
    """Those of a call that a captured tensor may have, under the language's names."""

    batch: int
    num_q_heads: int
    q_len: int
    kv_len: int


class Bound(NamedTuple):
    """A program for one call: the spec's text, and its values as `run.Call` wants them."""

    text: str
    tensors: List[torch.Tensor]
    scalars: List[torch.Tensor]
    scalar_params: List[int]
    numbers: List[float]


class Program:
    def __init__(self, trace: Trace):
        self.score, self.mask = _with_mask(trace)
        roots = [root for root in (self.score, self.mask) if root is not None]
        self._nodes = reachable(roots)
        self.params: List[Node] = [node for node in self._nodes if node.op == "param"]
        self.tables: List[int] = list(dict.fromkeys(
            node.data.place for node in self._nodes if node.op == "read"))  # places among the trace's tensors
        if len(self.tables) > MOST_TENSORS:
            raise TraceError(f"a program reads {len(self.tables)} captured tensors: at most {MOST_TENSORS}")
        divisors = {node.args[1] for node in self._nodes if node.op in _DIVIDING and node.type == I32}
        self._soft = [param in divisors and param.data.source == "number" for param in self.params]
        sources = differentiable_sources(self.score) if self.score is not None else []
        self._grad_places = {node.data.place for node in sources if node.op == "read" or node.data.source == "tensor"}
        self._indices = _indices_of(self._nodes)
        self._texts: Dict[Any, Tuple[str, _Chosen]] = {}
        self._only: Optional[Bound] = None  #: what `bind` returns where it depends on no argument

    def bind(self, numbers: Sequence[Any], tensors: Sequence[torch.Tensor], sizes: Sizes) -> Bound:
        """The program with captured numbers and the trace's tensors. Raises ArgumentError where one does not fit."""
        if self._only is not None:
            return self._only
        tables = [_as_table(tensors[place]) for place in self.tables]
        extents = tuple(tuple(self._extent(place, d, size, sizes) for d, size in enumerate(table.shape))
                        for place, table in zip(self.tables, tables))
        grads = frozenset(place for place in self._grad_places if tensors[place].requires_grad and torch.is_grad_enabled())
        values = [numbers[param.data.place] if param.data.source == "number" else 0 for param in self.params]
        soft = tuple(value for value, is_soft in zip(values, self._soft) if is_soft)
        key = (extents, soft, grads, tuple(table.dtype for table in tables))
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = self._general(extents, soft, grads, tables)
        text, (soft_params, extent_params) = found

        scalars: List[torch.Tensor] = []
        places: List[int] = []
        given: List[float] = []
        softs = iter(range(len(soft)))
        for param, value, is_soft in zip(self.params, values, self._soft):
            if is_soft and next(softs) not in soft_params:
                continue
            if param.data.source == "tensor":
                scalar = tensors[param.data.place]
                if scalar.requires_grad:
                    places.append(len(given))
                    scalars.append(scalar)
                else:
                    value = scalar.item()
            given.append(float(_fitting(value, param.type)))
        given += [float(tables[t].shape[d]) for t, d in extent_params]
        tables = [table if place in grads else table.detach() for place, table in zip(self.tables, tables)]
        bound = Bound(text, tables, scalars, places, given)
        if not (self.params or self.tables or self._grad_places):
            self._only = bound
        return bound

    def _extent(self, place: int, d: int, size: int, sizes: Sizes) -> Any:
        """What an extent is called: by the language where its index says which of the call's sizes it is; else its number."""
        used = self._indices.get((place, d), frozenset())
        for name, candidates in (("batch", ("b",)), ("num_q_heads", ("h",)), ("kv_len", ("q_idx", "kv_idx")), ("q_len", ("q_idx", "kv_idx"))):
            if used and used <= frozenset(candidates) and size == getattr(sizes, name):
                return name
        return size

    def _general(self, extents: Tuple, soft: Tuple, grads: frozenset, tables: List[torch.Tensor]) -> Tuple[str, _Chosen]:
        """The text for these extents and divisors, where those that were met with another value before are params."""
        numbered = [(t, d) for t, of_table in enumerate(extents) for d, extent in enumerate(of_table) if not isinstance(extent, str)]
        values = (*soft, *(extents[t][d] for t, d in numbered))
        every = set(range(len(soft))), numbered
        template = self._print(extents, soft, grads, tables, *every)
        room = MOST_PARAMS - sum(not is_soft for is_soft in self._soft)
        with _lock:
            first, changed = _met.setdefault(template, (values, set()))
            changed |= {i for i, (value, before) in enumerate(zip(values, first)) if value != before}
            fitting = sorted(changed)[:max(room, 0)]
        chosen = {i for i in fitting if i < len(soft)}, [numbered[i - len(soft)] for i in fitting if i >= len(soft)]
        return self._print(extents, soft, grads, tables, *chosen), chosen

    def _print(self, extents: Tuple, soft: Tuple, grads: frozenset, tables: List[torch.Tensor], soft_params: Set[int],
               extent_params: List[_Dimension]) -> str:
        lines = ["attention flex"]
        names: Dict[Union[Node, _Dimension], str] = {}
        softs = iter(range(len(soft)))
        declared = 0
        for param, is_soft in zip(self.params, self._soft):
            if is_soft and (number := next(softs)) not in soft_params:
                names[param] = _literal(soft[number])
                continue
            names[param] = f"p{declared}"
            grad = " grad" if param.data.source == "tensor" and param.data.place in grads else ""
            lines.append(f"param p{declared} : {param.type} = {'1.0' if param.type == F32 else '1'}{grad}")
            declared += 1
        extent_names: Dict[_Dimension, str] = {}
        for t, d in extent_params:
            extent_names[t, d] = f"n{len(extent_names)}"
            lines.append(f"param {extent_names[t, d]} : i32 = 1")
        if declared + len(extent_names) > MOST_PARAMS and len(self.params) > MOST_PARAMS:
            raise TraceError(f"a program captures {declared} numbers: at most {MOST_PARAMS}; put some into a tensor")
        for t, (place, table) in enumerate(zip(self.tables, tables)):
            of_table = [extent_names.get((t, d), str(extent)) for d, extent in enumerate(extents[t])]
            grad = " grad" if place in grads else ""
            lines.append(f"tensor t{t} : {DTYPES[table.dtype]}[{', '.join(of_table)}]{grad}")
            for d, extent in enumerate(of_table):
                names[place, d] = extent
        lines += _Printer(self._nodes, names, {place: t for t, place in enumerate(self.tables)}).lines(self.score, self.mask)
        return "\n".join(lines)


_lock = threading.Lock()
_met: Dict[str, Tuple[Tuple, Set[int]]] = {}  # by the text with params for all: the values first met, and which were others since


class _Printer:
    def __init__(self, nodes: List[Node], names: Dict[Union[Node, _Dimension], str], tables: Dict[int, int]):
        self._nodes, self._names, self._tables = nodes, names, tables
        self._uses: Dict[Node, int] = {}
        for node in nodes:
            for arg in node.args:
                self._uses[arg] = self._uses.get(arg, 0) + 1

    def lines(self, score: Optional[Node], mask: Optional[Node]) -> List[str]:
        texts: Dict[Node, str] = {}
        lines: List[str] = []
        for node in self._nodes:
            text = self._text(node, [texts[arg] for arg in node.args])
            # What is used twice gets a name; the body of a reduction cannot have one.
            if self._uses.get(node, 0) > 1 and node.args and not node.indices:
                lines.append(f"let x{len(lines)} = {text}")
                text = f"x{len(lines) - 1}"
            texts[node] = text
        if score is not None:
            lines.append(f"score_mod = {texts[score]}")
        if mask is not None:
            lines.append(f"mask_mod = {texts[mask]}")
        return lines

    def _text(self, node: Node, args: List[str]) -> str:
        op = node.op
        if op == "literal":
            return _literal(node.data)
        if op == "name":
            return node.data
        if op == "param":
            return self._names[node]
        if op == "extent":
            return self._names[node.data]
        if op == "read":
            return f"t{self._tables[node.data.place]}[{', '.join(args)}]"
        if op == "index":
            return f"r{node.data}"
        if op in REDUCTIONS and node.data is not None:
            return f"{op}(r{node.data[0]} < {node.data[1]}: {args[0]})"
        if op in _INFIX:
            return f"({args[0]} {op} {args[1]})"
        if op in _PREFIX:
            return f"({_PREFIX[op]}{args[0]})"
        return f"{op}({', '.join(args)})"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value >= 0 else f"({value})" if value > -(2**31) else "(-2147483647 - 1)"
    if math.isnan(value):
        return "(inf - inf)"
    text = "inf" if math.isinf(value) else repr(abs(value))
    return text if math.copysign(1, value) > 0 else f"(-{text})"


def _with_mask(trace: Trace) -> Tuple[Optional[Node], Optional[Node]]:
    """Score and mask, with what the score is minus infinity for moved to the mask: tiles are then left out."""
    graph, score, mask = trace.graph, trace.score, trace.mask
    while score is not None and score.op == "where" and not score.args[0].uses_score:
        condition, a, b = score.args
        if is_minus_infinity(b):
            kept, score = condition, a
        elif is_minus_infinity(a):
            kept, score = graph.negation(condition), b
        else:
            break
        mask = kept if mask is None else graph.logic("and", mask, kept)
    if score is not None and score.op == "name" and score.data == "score":
        score = None
    if mask is not None and mask.op == "literal" and mask.data is True:
        mask = None
    return score, mask


def _indices_of(nodes: Sequence[Node]) -> Dict[_Dimension, frozenset]:
    """By tensor and dimension: the names of its indices, "" for any that is more than a name."""
    found: Dict[_Dimension, Set[str]] = {}
    for node in nodes:
        if node.op == "read":
            for d, index in enumerate(node.args):
                found.setdefault((node.data.place, d), set()).add(index.data if index.op == "name" else "")
    return {key: frozenset(names) for key, names in found.items()}


_WIDER = {torch.float64: torch.float32, torch.int16: torch.int32}


def _as_table(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype in _WIDER:
        tensor = tensor.to(_WIDER[tensor.dtype])
    if tensor.dim() > 6:
        raise ArgumentError(f"a captured tensor has {tensor.dim()} dimensions: at most 6")
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


def _fitting(value: Any, type: str) -> Any:
    if type == I32 and not -(2**31) <= value < 2**31:
        raise ArgumentError(f"a captured number is {value}, which does not fit an i32")
    return value
