#!/usr/bin/env python3
"""Makes the tables in README.md and docs/ from the records in bench/results/.

    bench/tables.py            rewrites the tables
    bench/tables.py --check    changes nothing; exits with 1 and names the table where a file would change

A table stands between two lines, <!-- table: NAME --> and <!-- end -->; TABLES below says which records each is made of. A
record is what a script of bench/ writes by --json, under a name that stays: a new one takes the place of the old. Where a new
run covers only some rows, the file holds {"runs": [the old record, the new one]}, and each row is the newest run's that has it.
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
import sys
from typing import Callable, NamedTuple

DOCS = ("README.md", "docs/numerics.md", "docs/performance.md")
RESULTS = "bench/results"
SPEC_FOLDERS = ("bench/variants", "specs")
MARKER = re.compile(r"^<!-- table: (\S+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
REMEDY = "run python3 bench/tables.py, look at what changed, and commit it"
# What a source line leaves out of a command: it differs from machine to machine, or stands beside it.
LEFT_OUT = re.compile(r"\s--(?:facet|json|commit)[ =]\S+")


class Problem(Exception):
    """What is wrong, and what to do about it."""


class Entry(dict):
    """An object of a record; asked for what it lacks, it says so and where."""

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


class Table(NamedTuple):
    records: tuple  # names of files in RESULTS, without .json
    build: Callable  # from the root and the runs of each record to a Body


# Records


def load(root, name):
    """The runs of a record, the oldest first."""
    file = f"{RESULTS}/{name}.json"
    try:
        text = (root / file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Problem(f"{file} is missing; measure it ({RECORDS[name]}), or take the table's markers out of the docs") from None
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
    if not re.match(r"\d{4}-\d\d-\d\d", run["date"]):
        raise Problem(f"{run.file}: the date {run['date']!r} does not begin as 2026-01-31 does")
    if not versions(run):
        raise Problem(f"{run.file}: it names no versions ('torch', 'cuda' or 'versions')")


def versions(run):
    """The versions that a run names, for a source line."""
    names = {"torch": "PyTorch", "cuda": "CUDA", "cudnn": "cuDNN", "driver": "driver", "nvrtc": "NVRTC"}
    given = {**run, **run.get("versions", {})}
    if isinstance(given.get("cudnn"), int):
        number = given["cudnn"]
        given["cudnn"] = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return [f"{name} {given[key]}" for key, name in names.items() if given.get(key)]


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


# bench/peers_gpu.py


def shape(row):
    heads = f"{row['heads']}/{row['heads'] // row['group']}" if row["group"] > 1 else str(row["heads"])
    return f"B{row['batch']} H{heads} N{row['length']} D{row['head_dim']}"


def peer_rows(runs, dtype):
    """(run, row)s of a dtype, the newest of each shape and mask."""
    pairs = newest(runs, "rows", lambda row: (shape(row), row["dtype"], row["is_causal"]))
    return [(run, row) for run, row in pairs if row["dtype"] == dtype]


def speeds(row, *peers):
    """Cells: TFLOP/s of the peers, of Facet, and Facet's beside the first peer's."""
    theirs = [row["tflops"][peer] for peer in peers]
    if "error" in row["facet"]:
        return [*(f"{speed:.0f}" for speed in theirs), "failed", ""]
    flops = 4 * row["batch"] * row["heads"] * row["length"] ** 2 * row["head_dim"] / (2 if row["is_causal"] else 1)
    own = flops / row["facet"]["time_ms"]["median"] / 1e9
    return [*(f"{speed:.0f}" for speed in theirs), f"{own:.0f}", f"{own / theirs[0]:.2f}"]


def forward(root, runs, peers=(("fa2", "FA2"), ("cudnn", "cuDNN")), lengths=None):
    """Dense and causal 16-bit forward beside PyTorch's kernels, a line a shape; of some lengths, or all."""
    pairs = [(run, row) for run, row in peer_rows(runs, "bf16") if lengths is None or row["length"] in lengths]
    names = [name for name, _ in peers]
    head = [*(name for _, name in peers), "Facet", f"Facet / {peers[0][1]}"]
    lines = {}
    for _, row in pairs:
        lines.setdefault(shape(row), {})[row["is_causal"]] = speeds(row, *names)
    rows = [[of, *by_mask.get(False, [""] * len(head)), *by_mask.get(True, [""] * len(head))] for of, by_mask in lines.items()]
    return Body(["TFLOP/s", *(f"dense: {cell}" if i == 0 else cell for i, cell in enumerate(head)),
                 *(f"causal: {cell}" if i == 0 else cell for i, cell in enumerate(head))], rows, runs_of(pairs))


def forward_short(root, runs):
    return forward(root, runs, (("fa2", "FA2"),), (512, 8192))


def f32(root, runs):
    """f32 forward beside the memory-efficient kernel."""
    pairs = peer_rows(runs, "f32")
    return Body(["f32, TFLOP/s", "memory-efficient", "Facet", "ratio"],
                [[shape(row), *speeds(row, "memory-efficient")] for _, row in pairs], runs_of(pairs))


# bench/variants_gpu.py


def kind(root, row):
    """Which hooks a variant has, and whether they read tables: said by the record, or by its spec's text."""
    if row.get("kind"):
        return row["kind"]
    name = os.path.basename(row["facet"].get("file", "")) or row["variant"] + ".fa"
    files = [root / folder / name for folder in SPEC_FOLDERS if (root / folder / name).is_file()]
    if not files:
        return ""
    text = files[0].read_text(encoding="utf-8")
    hooks = [hook for hook in ("score", "mask") if re.search(rf"^{hook}_mod\b", text, re.MULTILINE)]
    return " and ".join(hooks) + (" by table" if re.search(r"^tensor\b", text, re.MULTILINE) else "")


def ratios(row):
    """FlexAttention's time beside Facet's, without and with its block mask."""
    return row["flex_ms"] / row["facet_ms"], (row["flex_ms"] + row["block_mask_ms"]) / row["facet_ms"]


VARIANT_HEAD = ("Facet, ms", "FlexAttention, ms", "block mask, ms", "ratio", "ratio with mask")


def variant_cells(row):
    """The cells that VARIANT_HEAD names; none for None, a row that was not measured."""
    if row is None:
        return [""] * len(VARIANT_HEAD)
    if "facet_ms" not in row:
        mine = row["facet"]
        return ["failed" if "error" in mine else ms(mine["time_ms"]["median"]), "" if "error" in mine else "failed", "", "", ""]
    return [ms(row["facet_ms"]), ms(row["flex_ms"]), ms(row["block_mask_ms"]) if row["block_mask_ms"] else "none",
            *(f"{ratio:.2f}" for ratio in ratios(row))]


def mean_cells(rows, count):
    """Under the ratios, their geometric means; how many they are of, where that is fewer than `count`."""
    done = [ratios(row) for row in rows if "facet_ms" in row]
    of = f" ({len(done)} rows)" if len(done) < count else ""
    return ["", "", "", *(f"{geometric_mean(column):.2f}{of}" for column in zip(*done))] if done else variant_cells(None)


def by_ratio(row):
    """Sorts variants by length, then by the ratio with the mask, the largest first; those that failed come last."""
    return (row["length"], 0, -ratios(row)[1]) if "facet_ms" in row else (row["length"], 1, 0)


def columns_of(n, rows, names, which):
    """What a table of variants says of length n: cells of its head, and of its lines, the last of which is the means'."""
    head = [VARIANT_HEAD[i] for i in which]
    head[0] = f"N = {n}: {head[0]}"
    lines = [*(variant_cells(rows.get(name)) for name in names), mean_cells(rows.values(), len(names))]
    return head, [[cells[i] for i in which] for cells in lines]


def variants(root, runs, with_kind=False, columns=None):
    """Facet beside FlexAttention, a line a variant, sorted at the first length. `columns`: the lengths, and of each which cells
    of VARIANT_HEAD; all where it is not given."""
    pairs = newest(runs, "variants", lambda row: (row["variant"], row["length"]))
    by_length = {}
    for row in sorted((row for _, row in pairs), key=by_ratio):
        by_length.setdefault(row["length"], {})[row["variant"]] = row
    rows = {name: row for of in reversed(by_length.values()) for name, row in of.items()}
    names = list(dict.fromkeys(name for of in by_length.values() for name in of))
    head = ["variant", *(["kind"] if with_kind else [])]
    lines = [[title(name), *([kind(root, rows[name])] if with_kind else [])] for name in names]
    lines.append(["geometric mean", *([""] if with_kind else [])])
    for n, which in (columns or {n: range(len(VARIANT_HEAD)) for n in by_length}).items():
        of_head, of_lines = columns_of(n, by_length.get(n, {}), names, which)
        head += of_head
        for line, cells in zip(lines, of_lines):
            line += cells
    return Body(head, lines, runs_of(pairs))


def further_variants(root, runs):
    return variants(root, runs, with_kind=True)


def variants_short(root, runs):
    return variants(root, runs, columns={8192: (0, 1, 2, 4), 32768: (4,)})


# bench/tile_classes_gpu.py, and the tile map


def tile_shares(root, runs):
    """Time of masks beside the dense kernel's times the share of tiles that are not empty."""
    pairs = newest(runs, "shares", lambda row: row["spec"])
    partial = lambda tiles: tiles["partial"] / (tiles["partial"] + tiles["full"])
    rows = [[title(row["spec"]), f"{row['share']:.3f}", f"{partial(row['tiles']):.3f}", ms(row["ms"]),
             ms(row["dense_ms"] * row["share"]), f"{row['of_share']:.2f}"] for _, row in pairs]
    return Body(["mask", "tiles not empty", "of these partial", "ms", "dense ms x share", "ms / that"], rows, runs_of(pairs))


def tile_cost(root, runs):
    """What it costs to find classes."""
    pairs = newest(runs, "cost", lambda row: row["length"])
    rows = [[str(row["length"]), ms(row["dense_ms"]), ms(row["classified_ms"]), f"{row['cost']:.2%}"] for _, row in pairs]
    return Body(["N", "no mask, ms", "a mask that is true everywhere, ms", "cost"], rows, runs_of(pairs))


def tile_growth(root, runs):
    """Butterfly at growing lengths, and a window over 2^20 positions."""
    pairs = newest(runs, "growth", lambda row: row["length"])
    grow = lambda row, key: times(row[key]) if key in row else ""
    rows = [["butterfly blocks, H8", str(row["length"]), ms(row["ms"]), f"{row['tiles']:,}", grow(row, "tiles_grow"),
             grow(row, "time_grows")] for _, row in pairs]
    newest_long = having(runs, "long")[-1]
    long = newest_long["long"]
    rows.append([f"sliding window 1024, H2; {long['bytes'] / 2**30:.2f} GiB allocated", str(1 << 20), ms(long["ms"]), "", "", ""])
    return Body(["mask", "N", "ms", "tiles", "tiles grow by", "time grows by"], rows, runs_of([*pairs, (newest_long, None)]))


def tile_map_cost(root, runs):
    """What the pass that fills the tile map takes, beside the forward pass."""
    pairs = newest(runs, "rows", lambda row: row["mask"])
    every = sorted((row for _, row in pairs if "map_us" in row), key=lambda row: -row["map_us"] / row["forward_us"])
    rows = [[title(row["mask"]), f"{row['map_us']:.1f}", f"{row['forward_us']:.0f}", f"{row['map_us'] / row['forward_us']:.1%}"]
            for row in every]
    return Body(["mask", "map, us", "forward, us", "map / forward"], rows, runs_of(pairs))


# Other records


def sm75(root, runs):
    """The sm_75 path beside the sm_80 path, both on the GPU that is there."""
    pairs = newest(runs, "results", lambda row: (row["head_dim"], row["target"]))
    by_dim = {}
    for _, row in pairs:
        by_dim.setdefault(row["head_dim"], {})[row["target"]] = row
    rows = []
    for dim, of in by_dim.items():
        if set(of) != {"t4", "a100"}:
            raise Problem(f"{runs[-1].file}: head_dim {dim} has targets {', '.join(sorted(of))}, not a100 and t4; measure both")
        old, new = (of[target]["time_ms"]["median"] for target in ("t4", "a100"))
        rows.append([str(dim), ms(old), f"{of['t4']['tflops']:.0f}", ms(new), f"{of['a100']['tflops']:.0f}", f"{new / old:.2f}"])
    return Body(["head_dim", "sm_75 path, ms", "TFLOP/s", "sm_80 path, ms", "TFLOP/s", "speed, sm_75 / sm_80"], rows,
                runs_of(pairs))


def eager(root, runs):
    """Facet's error beside PyTorch eager's, by kernels and dtype."""
    pairs = newest(runs, "cases", lambda row: row["number"])
    order = {"native": "sm_80", "t4": "sm_75", "host": "host"}
    groups = {}
    for _, row in pairs:
        groups.setdefault((row["path"], row["dtype"]), []).append(row)
    worst = lambda of: f"{max(of):.2f}" if math.isfinite(max(of)) else "eager exact"
    rows = []
    for path, dtype in sorted(groups, key=lambda of: (of[1] == "f32", list(order).index(of[0]), of[1])):
        ratio, rms = ([row[key] for row in groups[path, dtype]] for key in ("ratio", "rms_ratio"))
        rows.append([order[path], dtype, str(len(ratio)), f"{statistics.median(ratio):.2f}", worst(ratio),
                     f"{statistics.median(rms):.2f}", worst(rms)])
    return Body(["kernels", "dtype", "cases", "median", "worst", "rms median", "rms worst"], rows, runs_of(pairs))


HOSTS = {"host_xeon_amx_f32": "Xeon", "host_xeon_amx_bf16": "Xeon", "host_h200s_xeon_f32": "Xeon beside the H200",
         "host_h200s_xeon_bf16": "Xeon beside the H200", "host_zen4_f32": "Zen 4 EPYC"}
HOST_ROWS = ("full", "softcap", "alibi", "causal", "window 256")


def host_cell(row):
    """Facet's ms, and how many times as long the peer takes: with its block mask as it is, and compiled, where it makes one."""
    with_mask = row["ratio_with_set_up"]
    beside = f"{times(with_mask['eager'])} / {times(with_mask['compiled'])}" if with_mask else times(row["ratio"])
    return f"{statistics.median(row['facet_ms']):.1f} ({beside})"


def host(root, *records):
    """Facet on CPUs beside PyTorch, a line a machine and dtype."""
    rows, shown = [], []
    for runs, cpu in zip(records, HOSTS.values()):
        pairs = newest(runs, "rows", lambda row: row["row"])
        by_name = {row["row"]: row for _, row in pairs}
        if missing := [name for name in HOST_ROWS if name not in by_name]:
            raise Problem(f"{runs[-1].file} has no row {', '.join(missing)}; measure it without --only")
        batch, heads, n, dim = runs[-1]["shape"]
        gflops = 4 * batch * heads * n * n * dim / statistics.median(by_name["full"]["facet_ms"]) / 1e6
        rows.append([f"{cpu}, {runs[-1].get('dtype', 'f32')}", f"{gflops:.0f}", *(host_cell(by_name[name]) for name in HOST_ROWS),
                     f"{runs[-1]['facet_first_ms'] / 1000:.2f}"])
        shown += runs_of(pairs)
    return Body(["2 cores of a", "dense, GFLOP/s", "dense, ms", "softcap, ms", "ALiBi and causal, ms", "causal, ms",
                 "window 256, ms", "first call, s"], rows, shown)


def measured_by(script):
    return f"{script} --facet FACET --commit COMMIT --json FILE"


# Each record, and how it is measured.
RECORDS = {
    "h200_peers": measured_by("bench/peers_gpu.py"),
    "h200_tile_classes": measured_by("bench/tile_classes_gpu.py"),
    "h200_tile_map_cost": measured_by("bench/tile_map_cost.py"),
    "h200_variants_vs_flex": measured_by("bench/variants_gpu.py"),
    "h200_variants_vs_flex_tuned": measured_by("bench/variants_gpu.py --tune"),
    "h200_further_variants_vs_flex": measured_by("bench/variants_gpu.py --variants further"),
    "h200_sm75_beside_sm80": "facet bench specs/full.fa --dtype f16 --gpu {t4,a100} --head-dim {64,128,256}, as \"results\"",
    "h200_error_beside_eager": measured_by("bench/error_beside_eager.py"),
    **{name: measured_by(f"bench/peers_cpu.py --threads 2 --dtype {name.rsplit('_', 1)[1]}") for name in HOSTS},
}
TABLES = {
    "forward": Table(("h200_peers",), forward),
    "forward-short": Table(("h200_peers",), forward_short),
    "f32": Table(("h200_peers",), f32),
    "tile-classes": Table(("h200_tile_classes",), tile_shares),
    "tile-cost": Table(("h200_tile_classes",), tile_cost),
    "tile-growth": Table(("h200_tile_classes",), tile_growth),
    "tile-map-cost": Table(("h200_tile_map_cost",), tile_map_cost),
    "variants": Table(("h200_variants_vs_flex",), variants),
    "variants-short": Table(("h200_variants_vs_flex",), variants_short),
    "variants-tuned": Table(("h200_variants_vs_flex_tuned",), variants),
    "variants-further": Table(("h200_further_variants_vs_flex",), further_variants),
    "sm75": Table(("h200_sm75_beside_sm80",), sm75),
    "eager": Table(("h200_error_beside_eager",), eager),
    "host": Table(tuple(HOSTS), host),
}


# The docs


def markdown(root, doc, name):
    """The lines of a table of a document, with its source lines."""
    if name not in TABLES:
        raise Problem(f"there is no table of this name; those there are: {', '.join(TABLES)}")
    table = TABLES[name]
    try:
        body = table.build(root, *(load(root, record) for record in table.records))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        files = ", ".join(f"{RESULTS}/{record}.json" for record in table.records)
        raise Problem(f"{files} is not as its script writes it ({type(error).__name__}: {error}); measure it again") from error
    if not body.rows:
        raise Problem(f"{', '.join(table.records)} has no rows for it; measure it again")
    head, *rows = (f"| {' | '.join(cells)} |" for cells in [body.head, *body.rows])
    return "\n".join([head, "|" + "---|" * len(body.head), *rows, "", sources(body.runs, doc), ""])


def fill(root, doc, text, problems):
    """The text of a document with the tables that its records give, and the names of all of its tables. Where one cannot be made
    it stays as it is, and `problems` gets the reason."""
    names = []

    def replace(match):
        name, old = match.groups()
        names.append(name)
        try:
            if re.search("^<!-- table:", old, re.MULTILINE):
                raise Problem("another table begins before its <!-- end -->; put one, on a line of its own, below it")
            return f"<!-- table: {name} -->\n{markdown(root, doc, name)}<!-- end -->"
        except Problem as problem:
            problems.append(f"{doc}: table {name}: {problem}")
            return match[0]

    filled = MARKER.sub(replace, text)
    begun, ended = (len(re.findall(rf"^<!-- {word}", text, re.MULTILINE)) for word in ("table:", "end -->"))
    if not begun == ended == len(names):
        problems.append(f"{doc}: {begun} lines <!-- table: NAME -->, {ended} lines <!-- end -->, which make {len(names)} tables; "
                        "each table needs both, each on a line of its own")
    return filled, names


def stale(old, new):
    """Names of the tables that differ between two texts of a document."""
    return [before[1] for before, after in zip(MARKER.finditer(old), MARKER.finditer(new)) if before[0] != after[0]]


def unshown(root, names):
    """What is wrong with records that no document shows."""
    shown = {record for name in names if name in TABLES for record in TABLES[name].records}
    for file in sorted((root / RESULTS).glob("*")):
        if file.name in {f"{record}.json" for record in shown}:
            continue
        tables = [name for name, table in TABLES.items() if file.name in {f"{record}.json" for record in table.records}]
        if tables:
            yield (f"{RESULTS}/{file.name} is shown nowhere: put <!-- table: {tables[0]} --> and <!-- end -->, each on a line of "
                   f"its own, where the table belongs in one of {', '.join(DOCS)}")
        else:
            yield (f"{RESULTS}/{file.name} is read by no table: give it the name of the record it replaces "
                   f"({', '.join(RECORDS)}), or a table in bench/tables.py, or remove it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 where a file would change")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the folder that has README.md, docs/ and bench/ [this checkout]")
    options = parser.parse_args()
    problems, names = [], []
    for doc in DOCS:
        old = (options.root / doc).read_text(encoding="utf-8")
        new, of_doc = fill(options.root, doc, old, problems)
        names += of_doc
        if options.check:
            problems += [f"{doc}: table {name} is not what its records say; {REMEDY}" for name in stale(old, new)]
        elif new != old:
            (options.root / doc).write_text(new, encoding="utf-8")
            print(f"{doc}: {', '.join(stale(old, new))}")
    problems += unshown(options.root, names)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
