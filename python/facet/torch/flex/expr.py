"""Expressions of the spec language, as a traced program makes them.

Nodes are made by a `Graph`, which makes equal ones once. A node has one of the language's three types. These are the rules of
the language (docs/spec_language.md) seen from PyTorch: `/` of two i32 rounds down, as PyTorch's `//`; an i32 that meets an f32 is
converted; a bool never is, so that it is made a number here.
"""

from __future__ import annotations

import math
from typing import Any, Dict, FrozenSet, Iterator, List, Sequence, Tuple

I32, F32, BOOL = "i32", "f32", "bool"
I32_MIN, I32_MAX = -(2**31), 2**31 - 1

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
REDUCTIONS = ("any", "all", "sum", "min", "max")


class Node:
    """op            args              data
    literal         -                 the number
    name            -                 score, b, h, q_idx, kv_idx
    param           -                 a `Param`
    read            indices           a `Table`
    index           -                 the number of a reduction's index
    a reduction     the body          (the number of its index, its range)
    a function      its arguments     None
    an operator     its operands      None
    """

    __slots__ = ("op", "type", "args", "data", "may_be_negative", "indices", "uses_score", "only_params")

    def __init__(self, op: str, type: str, args: Tuple["Node", ...], data: Any, may_be_negative: bool):
        self.op, self.type, self.args, self.data = op, type, args, data
        self.may_be_negative = may_be_negative  # of an i32
        indices: FrozenSet[int] = frozenset().union(*(arg.indices for arg in args)) if args else frozenset()
        if op == "index":
            indices = frozenset((data,))
        elif op in REDUCTIONS and data is not None:
            indices -= {data[0]}
        self.indices: FrozenSet[int] = indices  # of reductions around it
        self.uses_score: bool = (op == "name" and data == "score") or any(arg.uses_score for arg in args)
        self.only_params: bool = op in ("literal", "param") or bool(args) and op != "read" and all(arg.only_params for arg in args)


class Graph:
    """Makes nodes, each once, in their order: arguments come before what uses them."""

    def __init__(self) -> None:
        self._nodes: Dict[Any, Node] = {}
        self._num_indices = 0

    def node(self, op: str, type: str, args: Sequence[Node] = (), data: Any = None, may_be_negative: bool = True) -> Node:
        args = tuple(args)
        key = (op, type, args, data if op != "literal" else (data, str(data)))
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = Node(op, type, args, data, may_be_negative)
        return found

    def literal(self, value: Any) -> Node:
        if isinstance(value, bool):
            return self.node("literal", BOOL, data=value)
        if isinstance(value, int):
            if not I32_MIN <= value <= I32_MAX:
                raise OverflowError(f"{value} does not fit an i32, which whole numbers are in Facet")
            return self.node("literal", I32, data=value, may_be_negative=value < 0)
        return self.node("literal", F32, data=float(value))

    def name(self, name: str) -> Node:
        return self.node("name", F32 if name == "score" else I32, data=name, may_be_negative=False)

    def new_index(self) -> Node:
        self._num_indices += 1
        return self.node("index", I32, data=self._num_indices - 1, may_be_negative=False)

    def reduce(self, op: str, body: Node, index: Node, size: int) -> Node:
        return self.node(op, body.type, (body,), (index.data, size), body.may_be_negative)

    # Conversions.

    def number(self, node: Node) -> Node:
        return self.where(node, self.literal(1), self.literal(0)) if node.type == BOOL else node

    def f32(self, node: Node) -> Node:
        node = self.number(node)
        if node.type == F32:
            return node
        return self.literal(float(node.data)) if node.op == "literal" else self.node("f32", F32, (node,))

    def i32(self, node: Node) -> Node:
        node = self.number(node)
        return node if node.type == I32 else self.node("i32", I32, (node,))

    def bool(self, node: Node) -> Node:
        return node if node.type == BOOL else self.node("!=", BOOL, (node, self.literal(0)))

    # Operators and functions.

    def where(self, condition: Node, a: Node, b: Node) -> Node:
        if a.type != b.type:
            a, b = self.number(a), self.number(b)
        wider = F32 if F32 in (a.type, b.type) else a.type
        if a is b:
            return a
        return self.node("where", wider, (condition, a, b), may_be_negative=a.may_be_negative or b.may_be_negative)

    def binary(self, op: str, a: Node, b: Node) -> Node:
        """An operator on numbers, or a comparison of these or of two bools."""
        if op in COMPARISONS:
            if a.type != b.type or a.type == BOOL and op not in ("==", "!="):
                a, b = self.number(a), self.number(b)
            return self.node(op, BOOL, (a, b))
        a, b = self.number(a), self.number(b)
        wider = F32 if F32 in (a.type, b.type) else I32
        negative = {"+": a.may_be_negative or b.may_be_negative, "*": a.may_be_negative or b.may_be_negative, "/": a.may_be_negative or b.may_be_negative,
                    "%": b.may_be_negative, "&": a.may_be_negative and b.may_be_negative, "|": a.may_be_negative or b.may_be_negative,
                    "^": a.may_be_negative or b.may_be_negative, ">>": a.may_be_negative, "**": a.may_be_negative}.get(op, True)
        return self.node(op, wider, (a, b), may_be_negative=negative)

    def logic(self, op: str, a: Node, b: Node) -> Node:
        """`and` and `or` of two bools."""
        for x, other in ((a, b), (b, a)):
            if x.op == "literal":
                return other if x.data == (op == "and") else x
        return self.node(op, BOOL, (a, b))

    def negation(self, a: Node) -> Node:
        """`not` of a bool."""
        return a.args[0] if a.op == "not" else self.node("not", BOOL, (a,))

    def call(self, function: str, *args: Node) -> Node:
        """A function whose result is an f32."""
        return self.node(function, F32, tuple(self.number(arg) for arg in args))

    def same(self, function: str, a: Node) -> Node:
        """A function whose result has its argument's type: abs, sign."""
        a = self.number(a)
        return self.node(function, a.type, (a,), may_be_negative=function != "abs")

    def extreme(self, function: str, a: Node, b: Node) -> Node:
        """`min` or `max` of two numbers."""
        if a.type == b.type == BOOL:
            return self.logic("and" if function == "min" else "or", a, b)
        a, b = self.number(a), self.number(b)
        negative = (a.may_be_negative or b.may_be_negative) if function == "min" else (a.may_be_negative and b.may_be_negative)
        return self.node(function, F32 if F32 in (a.type, b.type) else I32, (a, b), None, negative)

    def negate(self, a: Node) -> Node:
        a = self.number(a)
        return self.literal(-a.data) if a.op == "literal" and a.data != I32_MIN else self.node("neg", a.type, (a,))


def reachable(roots: Sequence[Node]) -> List[Node]:
    """All nodes below the roots, each once, arguments first."""
    seen: Dict[Node, None] = {}
    stack: List[Tuple[Node, Iterator[Node]]] = []
    for root in roots:
        if root not in seen:
            stack.append((root, iter(root.args)))
        while stack:
            node, rest = stack[-1]
            for arg in rest:
                if arg not in seen:
                    stack.append((arg, iter(arg.args)))
                    break
            else:
                stack.pop()
                seen[node] = None
    return list(seen)


# What a gradient passes through: the arguments of an operation that its derivative reaches.
_FLOWS = {"+", "-", "*", "/", "**", "neg", "f32", "min", "max", "sum", "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "erf",
          "sin", "cos", "tan", "atan", "atan2", "tanh", "pow", "relu", "sigmoid", "silu", "gelu", "softplus", "abs"}


def differentiable_sources(root: Node) -> List[Node]:
    """The params and reads below a node that its gradient reaches."""
    seen, todo, sources = set(), [root], []
    while todo:
        node = todo.pop()
        if node in seen or node.type != F32:
            continue
        seen.add(node)
        if node.op in ("param", "read"):
            sources.append(node)
        elif node.op == "where":
            todo += node.args[1:]
        elif node.op in _FLOWS:
            todo += node.args
    return sources


def is_minus_infinity(node: Node) -> bool:
    return node.op == "literal" and node.type == F32 and node.data == -math.inf
