"""Specs: what an attention variant computes."""

from __future__ import annotations

import os
import re
import textwrap
from typing import Any, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _core
from .explain import Explanation, explain


class ParamInfo(NamedTuple):
    """A run-time number of a spec: ``param window : i32 = 1024``."""

    name: str
    dtype: str  #: "i32" or "f32"
    default: Union[int, float]
    grad: bool  #: whether the backward pass gives its gradient


class TensorInfo(NamedTuple):
    """A captured tensor of a spec: ``tensor slopes : f32[num_q_heads]``."""

    name: str
    dtype: str  #: "f32", "bf16", "f16", "i32", "i64", "i8", "u8" or "bool"
    extents: List[str]  #: outermost first, as text: ["num_q_heads", "2 * window + 1"]
    grad: bool  #: whether the backward pass gives its gradient


class Spec:
    """A checked spec; immutable. Two specs with the same text are equal.

    ``text`` is in the spec language (docs/spec_language.md); common indentation is removed. ``file`` names it in messages.
    Raises SpecError with every finding.
    """

    __slots__ = ("_core", "_text", "_folder")

    def __init__(self, text: str, file: str = "<spec>"):
        self._core = _core.Spec.parse(textwrap.dedent(text), file)
        self._text, self._folder = self._core.text, ""

    @classmethod
    def _of(cls, core, folder: str = "") -> "Spec":
        spec = cls.__new__(cls)
        # Hooks of a file are named beside it; the text alone must find them as well.
        named = re.compile(r'^(\w+\s+from\s+")(?!/)', re.MULTILINE)
        spec._core, spec._folder = core, folder
        spec._text = named.sub(lambda match: match[1] + folder + os.sep, core.text) if folder else core.text
        return spec

    @classmethod
    def load(cls, path: Union[str, os.PathLike]) -> "Spec":
        """The spec in a file ``*.fa``. Raises SpecError, also where the file cannot be read."""
        return cls._of(_core.Spec.load(os.fspath(path)), os.path.dirname(os.path.abspath(path)))

    @classmethod
    def build(
        cls,
        name: str = "attention",
        *,
        head_dim: int = 128,
        head_dim_v: Optional[int] = None,
        dtype: str = "bf16",
        scale: Optional[Union[str, float]] = None,
        params: Mapping[str, Union[int, float, str]] = {},
        tensors: Mapping[str, str] = {},
        lets: Mapping[str, str] = {},
        score_mod: Optional[str] = None,
        mask_mod: Optional[str] = None,
        sink: Optional[str] = None,
        dropout: Optional[float] = None,
    ) -> "Spec":
        """A spec from its parts: the same language and the same checks.

        ``params`` are numbers, whose type is that of the default (``{"window": 1024, "cap": 30.0}``), or the language's words
        (``{"tau": "f32 = 1.0 grad"}``); ``tensors`` are words (``{"slopes": "f32[num_q_heads] grad"}``); the names of
        ``lets`` may have parameters (``{"near(x, y)": "abs(x - y) < window"}``). ``scale`` is 1 / sqrt(head_dim) by default.
        """
        lines = [f"attention {name}", f"head_dim {head_dim}"]
        if head_dim_v is not None:
            lines.append(f"head_dim_v {head_dim_v}")
        lines.append(f"dtype {dtype}")
        if scale is not None:
            lines.append(f"scale {scale if isinstance(scale, str) else repr(float(scale))}")
        lines += [f"param {key} : {_declared(value)}" for key, value in params.items()]
        lines += [f"tensor {key} : {value}" for key, value in tensors.items()]
        lines += [f"let {key} = {value}" for key, value in lets.items()]
        if score_mod is not None:
            lines.append(f"score_mod = {score_mod}")
        if mask_mod is not None:
            lines.append(f"mask_mod = {mask_mod}")
        if sink is not None:
            lines.append(f"sink {sink}")
        if dropout is not None:
            lines.append(f"dropout {float(dropout)!r}")
        return cls("\n".join(lines), f"<{name}>")

    def with_head_dim(self, head_dim: int, head_dim_v: int = 0) -> "Spec":
        """The same spec for other lengths of q, k and of v; 0: v's follows as the spec says."""
        return Spec._of(self._core.with_head_dim(head_dim, head_dim_v), self._folder)

    def with_dtype(self, dtype: str) -> "Spec":
        """The same spec for q, k, v and o of "bf16", "f16" or "f32"."""
        return Spec._of(self._core.with_dtype(dtype), self._folder)

    def explain(self, target: str = "host", plan: str = "", *, q_len: Optional[int] = None, kv_len: Optional[int] = None, batch: int = 1,
                heads: int = 1, kv_heads: Optional[int] = None, **captured: Any) -> Explanation:
        """What the compiler proves of the spec and chooses for a target, "host" or a GPU that need not be here ("a100", "h200").

        With q_len it also says which tiles the mask leaves of a problem of these sizes: ``captured`` are params and tensors of
        that problem; tensors that are not given are filled with the spec's examples. Print the result, or let a notebook
        draw it. Raises ArgumentError, SpecError.
        """
        return explain(self, target, plan, q_len=q_len, kv_len=kv_len, batch=batch, heads=heads, kv_heads=kv_heads, **captured)

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def head_dim(self) -> int:
        """The length of a q and k vector."""
        return self._core.head_dim

    @property
    def head_dim_v(self) -> int:
        """The length of a v and o vector."""
        return self._core.head_dim_v

    @property
    def dtype(self) -> str:
        """The type of q, k, v and o: "bf16", "f16" or "f32"."""
        return self._core.dtype

    @property
    def has_dropout(self) -> bool:
        return self._core.has_dropout

    @property
    def has_sink(self) -> bool:
        return self._core.has_sink

    @property
    def params(self) -> Tuple[ParamInfo, ...]:
        """The run-time numbers, in the spec's order."""
        return tuple(ParamInfo(*param) for param in self._core.params)

    @property
    def tensors(self) -> Tuple[TensorInfo, ...]:
        """The captured tensors, in the spec's order."""
        return tuple(TensorInfo(*tensor) for tensor in self._core.tensors)

    @property
    def warnings(self) -> Tuple[str, ...]:
        """What the checker warns of, as the command ``facet`` prints it."""
        return tuple(self._core.warnings)

    @property
    def text(self) -> str:
        """The spec in canonical form: it reads back to an equal spec."""
        return self._text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<facet.Spec {self.name}: {self.dtype}, head_dim {self.head_dim}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self):
        return Spec, (self.text,)


def load(path: Union[str, os.PathLike]) -> Spec:
    """The spec in a file ``*.fa``. Raises SpecError, also where the file cannot be read."""
    return Spec.load(path)


def _declared(value: Union[int, float, str]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a param is an int, a float or text, not {value!r}")
    return f"{'i32' if isinstance(value, int) else 'f32'} = {value!r}"
