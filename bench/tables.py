#!/usr/bin/env python3
"""Makes the tables in README.md and docs/ from the records in bench/results/.

    bench/tables.py            rewrites the tables
    bench/tables.py --check    changes nothing; exits with 1 and names the table where a file would change

A table stands between two lines, <!-- table: NAME --> and <!-- end -->; TABLES below says which records each is made of. A
record is what a script of bench/ writes by --json, under a name that stays: a new one takes the place of the old. Where a new
run covers only some rows, the file holds {"runs": [the old record, the new one]}, and each row is the newest run's that has it.
"""
import argparse
import os
import pathlib
import re
import sys
from typing import Callable, NamedTuple

from table import backward as of_backward
from table import compare as of_compare
from table import gpu as of_gpu
from table import host as of_hosts
from table import paper as of_paper
from table import plans as of_plans
from table.records import RESULTS, Problem, load, sources

DOCS = ("README.md", "docs/backward.md", "docs/baselines.md", "docs/numerics.md", "docs/performance.md", "docs/python.md", "docs/tuning.md")
MARKER = re.compile(r"^<!-- table: (\S+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
REMEDY = "run python3 bench/tables.py, look at what changed, and commit it"


class Table(NamedTuple):
    records: tuple  # names of files in RESULTS, without .json
    build: Callable  # from the root and the runs of each record to a Body


def measured_by(script):
    return f"{script} --facet FACET --commit COMMIT --json FILE"


CALL_OVERHEAD = ("bench/compare.py --rows dense --sides 'facet, spec' fa2 cudnn --seconds 0.005 --commit COMMIT --json FILE; again and again with "
                 "flex and --lengths 2048; as \"runs\"")
# Each record, and how it is measured.
RECORDS = {
    "h200_peers": "FA_TARGET=h200:sm80 " + measured_by("bench/peers_gpu.py"),
    "h200_peers_tuned": "facet tune of either spec at every head_dim, B32 N512, --budget 10s; then " + measured_by("bench/peers_gpu.py --rows bf16 causal"),
    "h200_tile_classes": measured_by("bench/tile_classes_gpu.py"),
    "h100_tile_map_cost": measured_by("bench/tile_map_cost.py"),
    "h200_variants_vs_flex": measured_by("bench/variants_gpu.py"),
    "h200_variants_vs_flex_tuned": measured_by("bench/variants_gpu.py --tune"),
    "h200_further_variants_vs_flex": "FA_TARGET=h200:sm80 " + measured_by("bench/variants_gpu.py --variants further"),
    "h200_further_variants_vs_flex_sm90": measured_by("bench/variants_gpu.py --variants further"),
    "h200_forward": "bench/compare.py --rows dense --sides facet fa2 cudnn --commit COMMIT --json FILE",
    "h200_standard": "bench/compare.py --rows dense --sides 'facet, standard' standard --commit COMMIT --json FILE",
    "h200_call_overhead": CALL_OVERHEAD,
    "h100_call_overhead": CALL_OVERHEAD,
    "h200_backward": "FA_TARGET=a100 bench/compare.py --backward --rows dense causal f32 --sides facet fa2 memory-efficient --commit COMMIT "
                     "--json FILE",
    "h200_backward_vs_flex": "bench/compare.py --backward --rows variants --sides facet flex --commit COMMIT --json FILE",
    "h200_first_call": "bench/compare.py --backward --cold --rows variants --only NAME --sides facet flex --commit COMMIT --json FILE, as \"runs\"",
    "h200_backward_share": measured_by("bench/backward_share.py"),
    "h100_baselines": "facet bench specs/full.fa specs/causal.fa --impl facet,standard,flash1 --every-score, with its \"commit\"",
    "h200_plans_by_length": measured_by("bench/tuning/plans_by_length.py --gpu h200"),
    "h200_memory_traffic": measured_by("bench/memory_traffic.py"),
    "h200_time_and_memory": measured_by("bench/time_and_memory.py"),
    "h200_block_sparsity": measured_by("bench/block_sparsity.py"),
    "h200_plans": measured_by("bench/tuning/plans.py --device cuda --dtype bf16 --shape 2,16,8192,128"),
    "predicted_buckets": measured_by("bench/tuning/buckets.py"),
    "h200_tuned_plans": measured_by("bench/tuning/tune_gpu.py"),
    "h100_tuned_plans": measured_by("bench/tuning/tune_gpu.py"),
    "h100_before_after": measured_by("bench/before_after.py --before FACET"),
    "h200_before_after": measured_by("bench/before_after.py --before FACET"),
    "h200_sm75_beside_sm80": "facet bench specs/full.fa --dtype f16 --gpu {t4,a100} --head-dim {64,128,256}, as \"results\"",
    "h200_sm90_beside_sm80": measured_by("bench/sm90_beside_sm80.py"),
    "h200_error_beside_eager": measured_by("bench/accuracy/error_beside_eager.py"),
    **{name: measured_by(f"bench/peers_cpu.py --threads 2 --dtype {name.rsplit('_', 1)[1]}") for name in of_hosts.HOSTS},
    "host_zen4_bf16": measured_by("bench/peers_cpu.py --threads 1 --dtype bf16"),
    "host_zen4_avx2_f32": measured_by("bench/peers_cpu.py --threads 1 --cpu avx2"),
    "host_zen4_tuned": measured_by("bench/tuning/tune_host.py"),
    "host_xeon_tuned": measured_by("bench/tuning/tune_host.py"),
    "host_zen4_plans": measured_by("bench/tuning/plans.py"),
    "host_zen4_gradients_beside_eager": measured_by("bench/accuracy/gradients_beside_eager.py"),
    **{name: measured_by(f"bench/backward_cpu.py --threads 2 --dtype {name.rsplit('_', 1)[1]}") for name in of_backward.HOSTS},
}
TABLES = {
    "forward": Table(("h200_peers",), of_gpu.forward),
    "forward-tuned": Table(("h200_peers_tuned",), of_gpu.forward),
    "forward-own": Table(("h200_forward",), of_compare.forward),
    "f32": Table(("h200_peers",), of_gpu.f32),
    "tile-classes": Table(("h200_tile_classes",), of_gpu.tile_shares),
    "tile-cost": Table(("h200_tile_classes",), of_gpu.tile_cost),
    "tile-growth": Table(("h200_tile_classes",), of_gpu.tile_growth),
    "tile-map-cost": Table(("h100_tile_map_cost",), of_gpu.tile_map_cost),
    "variants": Table(("h200_variants_vs_flex",), of_gpu.variants),
    "variants-tuned": Table(("h200_variants_vs_flex_tuned",), of_gpu.variants),
    "variants-further": Table(("h200_further_variants_vs_flex",), of_gpu.further_variants),
    "variants-further-sm90": Table(("h200_further_variants_vs_flex_sm90",), of_gpu.further_variants),
    "first-calls": Table(("h200_first_call",), of_compare.first_calls),
    "call-overhead": Table(("h200_call_overhead", "h100_call_overhead"), of_compare.call_overhead),
    "baselines": Table(("h100_baselines",), of_paper.baselines),
    "standard": Table(("h200_standard",), of_compare.standard),
    "plans-by-length": Table(("h200_plans_by_length",), of_gpu.plans_by_length),
    "memory-traffic": Table(("h200_memory_traffic",), of_paper.memory_traffic),
    "tile-kv": Table(("h200_memory_traffic",), of_paper.tile_kv),
    "time-and-memory": Table(("h200_time_and_memory",), of_paper.time_and_memory),
    "block-sparsity": Table(("h200_block_sparsity",), of_paper.block_sparsity),
    "gpu-plans": Table(("h200_plans",), of_plans.gpu),
    "before-after": Table(("h100_before_after",), of_gpu.before_after),
    "before-after-h200": Table(("h200_before_after",), of_gpu.before_after),
    "sm75": Table(("h200_sm75_beside_sm80",), of_gpu.sm75),
    "sm90": Table(("h200_sm90_beside_sm80",), of_gpu.sm90),
    "eager": Table(("h200_error_beside_eager",), of_gpu.eager),
    "host": Table(tuple(of_hosts.HOSTS), of_hosts.host),
    "host-one-core": Table(tuple(of_hosts.ONE_CORE), of_hosts.one_core),
    "host-tuned": Table(("host_zen4_tuned",), of_hosts.host_tuned),
    "host-tuned-xeon": Table(("host_xeon_tuned",), of_hosts.host_tuned),
    "gpu-tuned": Table(("h200_tuned_plans",), of_plans.tuned),
    "gpu-tuned-both": Table(("h200_tuned_plans", "h100_tuned_plans"), of_plans.fastest_on_both),
    "host-plans": Table(("host_zen4_plans",), of_plans.host),
    "buckets": Table(("predicted_buckets",), of_plans.buckets),
    "shipped-plans": Table((), of_plans.shipped),
    "backward-host": Table(tuple(of_backward.HOSTS), of_backward.host),
    "backward-gpu": Table(("h200_backward",), of_compare.backward),
    "backward-variants": Table(("h200_backward_vs_flex",), of_compare.backward_variants),
    "backward-share": Table(("h200_backward_share",), of_backward.share),
    "backward-eager": Table(("host_zen4_gradients_beside_eager",), of_backward.eager),
}


# The docs


def markdown(root, doc, name):
    """The lines of a table of a document, with its source lines."""
    if name not in TABLES:
        raise Problem(f"there is no table of this name; those there are: {', '.join(TABLES)}")
    table = TABLES[name]
    try:
        body = table.build(root, *(load(root, record, RECORDS[record]) for record in table.records))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        files = ", ".join(f"{RESULTS}/{record}.json" for record in table.records) or "a file in tuned/"
        raise Problem(f"{files} is not as its script writes it ({type(error).__name__}: {error}); measure it again") from error
    if not body.rows:
        raise Problem(f"{', '.join(table.records)} has no rows for it; measure it again")
    head, *rows = (f"| {' | '.join(cells)} |" for cells in [body.head, *body.rows])
    return "\n".join([head, "|" + "---|" * len(body.head), *rows, *(["", sources(body.runs, doc)] if body.runs else []), ""])


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


def misplaced(root):
    """What is wrong with the files that records name: a folder of the machine that measured says nothing elsewhere."""
    for file in sorted((root / RESULTS).glob("*.json")):
        for name in sorted(set(re.findall(r'"file": "([^"]*)"', file.read_text(encoding="utf-8")))):
            if os.path.isabs(name) or name.startswith(os.pardir):
                yield f"{RESULTS}/{file.name} names {name}: save the record by bench/common.py, or write the path from the repository's root"


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
    problems += misplaced(options.root)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
