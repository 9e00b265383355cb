"""The records in bench/results/ as bench/tables.py reads them: their runs, where those come from, and cells of tables."""
import json
import math
import os
import re
import statistics
from typing import NamedTuple

RESULTS = "bench/results"
ABSOLUTE = re.compile(r"(?:^|[\s=])(/\S+)")  # a path that only the machine that measured has
# What a source line leaves out of a command: it differs from machine to machine, or stands beside it.
LEFT_OUT = re.compile(r"\s--(?:facet|json|commit)[ =]\S+")


class Problem(Exception):
    """An error, and its remedy."""


class Entry(dict):
    """An object of a record. Reading a key that it lacks raises Problem with its place."""

    def __init__(self, content, file):
        super().__init__(content)
        self.file = file

    def __missing__(self, key):
        raise Problem(f"{self.file}: the object with {', '.join(list(self)[:6]) or 'nothing in it'} has no {key!r}; "
                      "measure it again with the script that its 'command' names")


class Body(NamedTuple):
    """A table: cells of its head, cells of its rows, and the runs that it shows."""
    head: list
    rows: list
    runs: list


# Records


def load(root, name, measured):
    """The runs of a record, the oldest first; `measured` says how it is made."""
    file = f"{RESULTS}/{name}.json"
    try:
        text = (root / file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Problem(f"{file} is missing; measure it ({measured}), or take the table's markers out of the docs") from None
    try:
        record = json.loads(text, object_hook=lambda content: Entry(content, file))
    except json.JSONDecodeError as error:
        raise Problem(f"{file} is no JSON: {error}; measure it again") from None
    runs = record["runs"] if isinstance(record, Entry) and "runs" in record else [record]
    if not runs or not all(isinstance(run, Entry) for run in runs):
        raise Problem(f"{file} is neither a record nor {{\"runs\": [records]}}; measure it again")
    for run in runs:
        check_origin(run)
    return sorted(runs, key=lambda run: run["date"])


def check_origin(run):
    """Raises Problem where a run does not say where it comes from."""
    for key in ("command", "date", "commit"):
        if not run[key] or not isinstance(run[key], str):
            raise Problem(f"{run.file}: {key!r} is {run[key]!r}; it has to be a text (the scripts take --commit)")
    if found := ABSOLUTE.search(run["command"]):
        raise Problem(f"{run.file}: 'command' names {found[1]}, which other machines do not have; leave its folder out")
    if not re.match(r"\d{4}-\d\d-\d\d", run["date"]):
        raise Problem(f"{run.file}: the date {run['date']!r} does not begin as 2026-01-31 does")
    if not versions(run):
        raise Problem(f"{run.file}: it names no versions ('torch', 'cuda' or 'versions')")


def versions(run):
    """The versions that a run names, for a source line."""
    names = {"torch": "PyTorch", "cuda": "CUDA", "cudnn": "cuDNN", "driver": "driver", "nvrtc": "NVRTC", "llvm": "LLVM"}
    given = {**run, **run.get("versions", {})}
    if isinstance(given.get("cudnn"), int):
        number = given["cudnn"]
        given["cudnn"] = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    others = [f"{name} {given[key]}" for key, name in names.items() if given.get(key)]
    own = run.get("versions", {}).get("facet")  # where nothing else ran
    return others or ([f"Facet {own}"] if own else [])


def sources(runs, doc):
    """The line below a table that says where its runs come from."""
    commands_of = {}
    for run in runs:
        link = f"[{os.path.basename(run.file)}]({os.path.relpath(run.file, os.path.dirname(doc) or '.')})"
        machine = run.get("device") or run.get("cpu")
        about = ", ".join([*([machine] if machine else []), *versions(run)])
        commands_of.setdefault((link, about), []).append(
            f"`{LEFT_OUT.sub('', run['command'])}`, commit {run['commit']}, {run['date'][:10]}")
    return " ".join(f"From {link}: {'; '.join(commands)}; {about}." for (link, about), commands in commands_of.items())


def newest(runs, rows, key):
    """(run, row) for each key(row): of the newest run that has it. They stand in the order of the first run that has them."""
    found = {}
    for run in having(runs, rows):
        for row in run[rows]:
            found[key(row)] = run, row
    return list(found.values())


def having(runs, key):
    """The runs that have a key; at least one has to."""
    return [run for run in runs if key in run] or [runs[-1][key]]


def runs_of(pairs):
    """The runs of (run, row)s, each once, the oldest first."""
    found = {id(run): run for run, _ in pairs}
    return sorted(found.values(), key=lambda run: run["date"])


# Cells


def ms(time):
    return f"{time:.3f}" if time < 10 else f"{time:.2f}"


def times(ratio):
    return f"{ratio:.2f}x"


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


TITLES = {"alibi_causal": "ALiBi, causal", "bigbird": "BigBird", "block_sparse": "block-sparse layout",
          "butterfly": "butterfly blocks", "dilated": "dilated 4, causal", "dilated_4": "dilated 4, causal",
          "document": "documents, causal inside", "document_alibi": "documents, ALiBi", "fire": "FIRE",
          "low_rank_bias": "low-rank bias", "neighbourhood_2d": "2-D neighbourhood",
          "neighbourhood_3d": "3-D neighbourhood", "prefix_lm": "prefix LM", "relative_bias": "relative-bias table",
          "sliding_window": "sliding window 1024", "swin_bias": "Swin bias", "t5_bias": "T5 bias, causal",
          "t5_encoder": "T5 bias, encoder", "window_1024": "sliding window 1024"}


def title(name):
    """What a reader calls a spec or variant."""
    return TITLES.get(name, name.replace("_", " "))
