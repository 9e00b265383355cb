"""PyTorch's elementwise functions in the spec language, by PyTorch's names.

Each takes the graph and the nodes of its tensor arguments, broadcast already, and returns a node.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Optional

from .errors import error
from .expr import BOOL, F32, I32, Graph, Node

Elementwise = Callable[..., Node]

TABLE: Dict[str, Elementwise] = {}


def _named(*names: str) -> Callable[[Elementwise], Elementwise]:
    def add(function: Elementwise) -> Elementwise:
        for name in names:
            TABLE[name] = function
        return function

    return add


def _add_calls() -> None:
    """Functions of one number that the language has under the same meaning."""
    for name, names in {
        "exp": "exp", "exp2": "exp2 special_exp2", "expm1": "expm1 special_expm1", "log": "log", "log2": "log2", "log1p": "log1p special_log1p",
        "sqrt": "sqrt", "rsqrt": "rsqrt", "erf": "erf special_erf", "sin": "sin", "cos": "cos", "tan": "tan", "atan": "atan arctan",
        "tanh": "tanh", "sigmoid": "sigmoid special_expit", "silu": "silu swish",
    }.items():
        _named(*names.split())(lambda g, x, inplace=False, name=name: g.call(name, x))


def _add_operators() -> None:
    for op, names in {
        "*": "mul multiply", "<": "lt less", "<=": "le less_equal", ">": "gt greater", ">=": "ge greater_equal", "==": "eq", "!=": "ne not_equal",
    }.items():
        _named(*names.split())(lambda g, a, b, op=op: g.binary(op, a, b))
    for op, names in {"&": "and bitwise_and", "|": "or bitwise_or", "^": "xor bitwise_xor"}.items():
        _named(*names.split())(lambda g, a, b, op=op: _bitwise(g, op, a, b))
    for op, names in {"<<": "lshift bitwise_left_shift", ">>": "rshift bitwise_right_shift"}.items():
        _named(*names.split())(lambda g, a, b, op=op: g.binary(op, _whole(g, op, a), _whole(g, op, b)))
    for op, name in {"and": "logical_and", "or": "logical_or"}.items():
        _named(name)(lambda g, a, b, op=op: g.logic(op, g.bool(a), g.bool(b)))
    for op, names in {"min": "minimum fmin", "max": "maximum fmax"}.items():
        _named(*names.split())(lambda g, a, b, op=op: g.extreme(op, a, b))


def _whole(g: Graph, op: str, a: Node) -> Node:
    a = g.number(a)
    if a.type != I32:
        raise error(f"{op} of a floating-point number")
    return a


def _bitwise(g: Graph, op: str, a: Node, b: Node) -> Node:
    if a.type == b.type == BOOL:
        return g.binary("!=", a, b) if op == "^" else g.logic("and" if op == "&" else "or", a, b)
    return g.binary(op, _whole(g, op, a), _whole(g, op, b))


def _division(g: Graph, a: Node, b: Node, rounding: Optional[str]) -> Node:
    a, b = g.number(a), g.number(b)
    whole = a.type == b.type == I32
    if rounding is None:
        return g.binary("/", g.f32(a), g.f32(b)) if whole else g.binary("/", a, b)
    if whole and (rounding == "floor" or not (a.may_be_negative or b.may_be_negative)):
        return g.binary("/", a, b)
    if whole:  # towards zero: of the amounts, with the sign of the quotient
        amount = g.binary("/", g.same("abs", a), g.same("abs", b))
        opposite = g.binary("!=", g.binary("<", a, g.literal(0)), g.binary("<", b, g.literal(0)))
        return g.where(opposite, g.negate(amount), amount)
    return g.call("floor" if rounding == "floor" else "trunc", g.binary("/", a, b))


_add_calls()
_add_operators()


@_named("add")
def _add(g: Graph, a: Node, b: Node, alpha: Any = 1) -> Node:
    return g.binary("+", a, b if alpha == 1 else g.binary("*", b, g.literal(alpha)))


@_named("sub", "subtract")
def _sub(g: Graph, a: Node, b: Node, alpha: Any = 1) -> Node:
    return g.binary("-", a, b if alpha == 1 else g.binary("*", b, g.literal(alpha)))


@_named("rsub")
def _rsub(g: Graph, a: Node, b: Node, alpha: Any = 1) -> Node:
    return _sub(g, b, a, alpha)


@_named("div", "divide", "truediv", "true_divide")
def _div(g: Graph, a: Node, b: Node, rounding_mode: Optional[str] = None) -> Node:
    return _division(g, a, b, rounding_mode)


@_named("floordiv", "floor_divide")
def _floordiv(g: Graph, a: Node, b: Node) -> Node:
    return _division(g, a, b, "floor")


@_named("mod", "remainder")
def _remainder(g: Graph, a: Node, b: Node) -> Node:
    a, b = g.number(a), g.number(b)
    if a.type == b.type == I32:
        return g.binary("%", a, b)
    return g.binary("-", a, g.binary("*", g.call("floor", g.binary("/", g.f32(a), g.f32(b))), b))


@_named("fmod")
def _fmod(g: Graph, a: Node, b: Node) -> Node:
    return g.binary("-", a, g.binary("*", _division(g, a, b, "trunc"), b))


@_named("pow", "float_power")
def _pow(g: Graph, a: Node, b: Node) -> Node:
    a, b = g.number(a), g.number(b)
    if a.type == b.type == I32 and not (b.op == "literal" and 0 <= b.data <= 64):
        if a.op == "literal" and a.data == 2 and not b.may_be_negative:
            return g.binary("<<", g.literal(1), b)
        raise error("a whole number to the power of one that is no constant from 0 to 64: make one of them a float")
    return g.binary("**", a, b)


@_named("neg", "negative")
def _neg(g: Graph, a: Node) -> Node:
    return g.negate(a)


@_named("pos", "positive", "clone", "contiguous", "detach_", "alias", "real")
def _same(g: Graph, a: Node, **_: Any) -> Node:
    return a


@_named("invert", "bitwise_not")
def _invert(g: Graph, a: Node) -> Node:
    return g.negation(a) if a.type == BOOL else g.node("~", I32, (_whole(g, "~", a),))


@_named("logical_not")
def _not(g: Graph, a: Node) -> Node:
    return g.negation(g.bool(a))


@_named("logical_xor")
def _logical_xor(g: Graph, a: Node, b: Node) -> Node:
    return g.binary("!=", g.bool(a), g.bool(b))


@_named("abs", "absolute")
def _abs(g: Graph, a: Node) -> Node:
    return g.same("abs", a)


@_named("sign", "sgn")
def _sign(g: Graph, a: Node) -> Node:
    return g.same("sign", a)


def _rounding(name: str) -> Elementwise:
    def function(g: Graph, a: Node) -> Node:
        a = g.number(a)
        return a if a.type == I32 else g.call(name, a)

    return function


for _name, _names in {"floor": "floor", "ceil": "ceil", "round": "round", "trunc": "trunc fix"}.items():
    _named(*_names.split())(_rounding(_name))


@_named("where")
def _where(g: Graph, condition: Node, a: Node, b: Node) -> Node:
    return g.where(g.bool(condition), a, b)


@_named("masked_fill")
def _masked_fill(g: Graph, a: Node, mask: Node, value: Node) -> Node:
    if a.type != value.type:  # PyTorch keeps a's type
        value = g.f32(value) if a.type == F32 else g.i32(value) if a.type == I32 else g.bool(value)
    return g.where(g.bool(mask), value, a)


@_named("clamp", "clip")
def _clamp(g: Graph, a: Node, min: Optional[Node] = None, max: Optional[Node] = None) -> Node:
    if min is not None:
        a = g.extreme("max", a, min)
    return a if max is None else g.extreme("min", a, max)


@_named("clamp_min")
def _clamp_min(g: Graph, a: Node, min: Node) -> Node:
    return _clamp(g, a, min=min)


@_named("clamp_max")
def _clamp_max(g: Graph, a: Node, max: Node) -> Node:
    return _clamp(g, a, max=max)


@_named("square")
def _square(g: Graph, a: Node) -> Node:
    return g.binary("*", a, a)


@_named("reciprocal")
def _reciprocal(g: Graph, a: Node) -> Node:
    return g.binary("/", g.literal(1.0), g.f32(a))


@_named("atan2", "arctan2")
def _atan2(g: Graph, a: Node, b: Node) -> Node:
    return g.call("atan2", a, b)


@_named("relu")
def _relu(g: Graph, a: Node, inplace: bool = False) -> Node:
    return g.extreme("max", a, g.literal(0) if a.type == I32 else g.literal(0.0))


@_named("leaky_relu")
def _leaky_relu(g: Graph, a: Node, negative_slope: Any = 0.01, inplace: bool = False) -> Node:
    return g.where(g.binary(">", a, g.literal(0.0)), a, g.binary("*", a, g.literal(float(negative_slope))))


@_named("elu")
def _elu(g: Graph, a: Node, alpha: Any = 1.0, inplace: bool = False) -> Node:
    return g.where(g.binary(">", a, g.literal(0.0)), a, g.binary("*", g.literal(float(alpha)), g.call("expm1", a)))


@_named("gelu")
def _gelu(g: Graph, a: Node, approximate: str = "none") -> Node:
    if approximate == "none":
        return g.call("gelu", a)
    cube = g.binary("*", g.binary("*", a, a), a)
    inner = g.binary("*", g.literal(math.sqrt(2 / math.pi)), g.binary("+", a, g.binary("*", g.literal(0.044715), cube)))
    half = g.binary("*", g.literal(0.5), a)
    return g.binary("*", half, g.binary("+", g.literal(1.0), g.call("tanh", inner)))


@_named("softplus")
def _softplus(g: Graph, a: Node, beta: Any = 1, threshold: Any = 20) -> Node:
    scaled = a if beta == 1 else g.binary("*", a, g.literal(float(beta)))
    soft = g.call("softplus", scaled)
    return soft if beta == 1 else g.binary("/", soft, g.literal(float(beta)))


@_named("logsigmoid", "log_sigmoid")
def _logsigmoid(g: Graph, a: Node) -> Node:
    return g.negate(g.call("softplus", g.negate(a)))


@_named("erfc", "special_erfc")
def _erfc(g: Graph, a: Node) -> Node:
    return g.binary("-", g.literal(1.0), g.call("erf", a))


@_named("log10")
def _log10(g: Graph, a: Node) -> Node:
    return g.binary("*", g.call("log2", a), g.literal(math.log10(2)))


def _exponentials(g: Graph, a: Node) -> tuple:
    return g.call("exp", a), g.call("exp", g.negate(a))


@_named("sinh")
def _sinh(g: Graph, a: Node) -> Node:
    up, down = _exponentials(g, a)
    return g.binary("*", g.literal(0.5), g.binary("-", up, down))


@_named("cosh")
def _cosh(g: Graph, a: Node) -> Node:
    up, down = _exponentials(g, a)
    return g.binary("*", g.literal(0.5), g.binary("+", up, down))


@_named("deg2rad")
def _deg2rad(g: Graph, a: Node) -> Node:
    return g.binary("*", a, g.literal(math.pi / 180))


@_named("lerp")
def _lerp(g: Graph, a: Node, end: Node, weight: Node) -> Node:
    return g.binary("+", a, g.binary("*", weight, g.binary("-", end, a)))


@_named("addcmul")
def _addcmul(g: Graph, a: Node, x: Node, y: Node, value: Any = 1) -> Node:
    product = g.binary("*", x, y)
    return g.binary("+", a, product if value == 1 else g.binary("*", g.literal(value), product))


@_named("isnan")
def _isnan(g: Graph, a: Node) -> Node:
    return g.binary("!=", a, a) if a.type == F32 else g.literal(False)


@_named("isinf")
def _isinf(g: Graph, a: Node) -> Node:
    return g.binary("==", g.same("abs", a), g.literal(math.inf)) if a.type == F32 else g.literal(False)


@_named("isfinite")
def _isfinite(g: Graph, a: Node) -> Node:
    return g.binary("<", g.same("abs", a), g.literal(math.inf)) if a.type == F32 else g.literal(True)
