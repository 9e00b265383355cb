"""What the compiler knows of a spec and decides for it, and which tiles its mask leaves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

from . import _core, arrays
from .errors import ArgumentError

if TYPE_CHECKING:
    from .spec import Spec


class ClampedRead(NamedTuple):
    """A read whose index cannot be proved to be in range, and is clamped."""

    tensor: str
    dimension: int
    line: int
    column: int


class Tiles:
    """The tiles of a problem, as the mask's class function finds them.

    counts    tiles by class: {"empty": never loaded, "partial": computed with the mask, "full": computed without}
    reasons   (class, why, how many tiles), the most tiles first; in the words of the spec
    exact     whether no tile counts as partial that keeps everything or nothing, as far as it was looked at
    blockers  parts of the mask that keep tiles from being skipped: (line, column, text, why, remedy)
    report    all that ``facet explain --tiles --json`` says
    svg, map  pictures of the first batch entry and head: an SVG document, and text
    """

    def __init__(self, report: Dict[str, Any], svg: str, map: str):
        self.report, self.svg, self.map = report, svg, map
        self.counts: Dict[str, int] = report["tiles"]
        self.reasons: List[Tuple[str, str, int]] = [(fact["class"], fact["because"], fact["tiles"]) for fact in report["facts"]]
        self.exact: bool = report["partial_but_empty"] + report["partial_but_full"] == 0
        self.blockers = [(part["line"], part["column"], part["part"], part["why"], part["remedy"]) for part in report["blockers"]]

    @property
    def share_of_work(self) -> float:
        """Tiles that are computed, as a share of all."""
        total = sum(self.counts.values())
        return (total - self.counts["empty"]) / total if total else 0.0

    def __str__(self) -> str:
        lines = []
        total = max(sum(self.counts.values()), 1)
        for name, what in (("empty", "never loaded"), ("full", "computed without the mask"), ("partial", "computed with the mask")):
            lines.append(f"{name:<8} {self.counts[name]:>10,} {100 * self.counts[name] / total:6.2f}%  {what}")
            lines += [f"         {count:>10,}          because {why}" for of, why, count in self.reasons if of == name]
        lines += [f"{line}:{column}: `{text}` {why}\n  help: {remedy}" for line, column, text, why, remedy in self.blockers]
        return "\n".join([*lines, "", self.map])


class Explanation:
    """What `Kernel.explain` and `Spec.explain` say: print it, or let a notebook show it.

    spec      the spec
    target    what the plan is for: "host", "h100", ...
    plan      the plan, and in `why` why it was chosen
    facts     what the analysis proved: lines "name: what"
    clamped   reads whose index is clamped
    tiles     `Tiles`, where a problem was given and the spec has a mask
    """

    def __init__(self, spec: "Spec", target: str, said: Dict[str, Any], tiles: Optional[Tiles]):
        self.spec, self.target, self.tiles = spec, target, tiles
        self.plan: str = said["plan"]
        self.why: str = said["why"]
        self.facts: str = said["facts"].strip()
        self.clamped = tuple(ClampedRead(*read) for read in said["clamped"])

    def __str__(self) -> str:
        clamped = [f"  {read.line}:{read.column}: index {read.dimension} of tensor '{read.tensor}'" for read in self.clamped]
        parts = [f"{self.spec.name}, for {self.target}", "plan     " + self.plan, "why      " + self.why, "", self.facts, "",
                 "clamped reads:" if clamped else "clamped reads: none", *clamped]
        if self.tiles is not None:
            parts += ["", str(self.tiles)]
        return "\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        import html

        picture = "" if self.tiles is None else self.tiles.svg[self.tiles.svg.find("<svg"):]
        return f"<pre>{html.escape(str(self).rsplit(chr(10) * 2, 1)[0] if picture else str(self))}</pre>{picture}"


def explain(spec: "Spec", target: str = "host", plan: str = "", **sizes_and_captured: Any) -> Explanation:
    """What `Spec.explain` returns."""
    sizes = {name: sizes_and_captured.pop(name, None) for name in ("q_len", "kv_len", "batch", "heads", "kv_heads")}
    captured = sizes_and_captured
    said = _core.explain_facts(spec._core, target, "")
    if plan and said["plan"] != plan:
        said = _core.explain_facts(spec._core, target, plan)
    tiles = None
    if sizes["q_len"]:
        q_len, heads = int(sizes["q_len"]), int(sizes["heads"] or 1)
        size = [int(sizes["batch"] or 1), heads, int(sizes["kv_heads"] or heads), q_len, int(sizes["kv_len"] or q_len)]
        params = {param.name: str(captured[param.name]) for param in spec.params if param.name in captured}
        views = {tensor.name: _host_view(captured[tensor.name], tensor.name) for tensor in spec.tensors if tensor.name in captured}
        for name in captured:
            if name not in params and name not in views:
                raise ArgumentError(f"'{name}' is neither a tensor nor a param of the spec")
        report, svg, text = _core.explain_tiles(spec._core, said["tile_q"], said["tile_kv"], size, params, views)
        tiles = Tiles(json.loads(report), svg, text)
    elif captured:
        raise ArgumentError("captured values say something about tiles: state q_len")
    return Explanation(spec, target, said, tiles)


def _host_view(array: Any, name: str) -> "_core.View":
    view = arrays.view(array, f"tensor '{name}'")
    arrays.check_device(view, f"tensor '{name}'", "cpu", 0)
    return view
