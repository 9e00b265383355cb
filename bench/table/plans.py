"""Tables of bench/tables.py about plans: the rate for each tile_q and tile_kv (bench/tuning/plans.py), what the tuner finds
(bench/tuning/tune_gpu.py), which calls have a plan of their own (bench/tuning/buckets.py), and what ships (tuned/)."""
import json
import math
import re

from table.records import Body, newest, runs_of, times


def table(runs, of_tflops):
    """Rates of every plan of a spec, tile_q down and tile_kv across; the compiler's own choice is marked, the fastest is bold."""
    pairs = newest(runs, "results", lambda line: line["plan"])
    tile = lambda plan: tuple(int(re.search(rf"{name}=(\d+)", plan)[1]) for name in ("tile_q", "tile_kv"))
    rates = {tile(line["plan"]): line["tflops"] * of_tflops for _, line in pairs}
    default, best = tile(runs[-1]["default_plan"]), max(rates, key=rates.get)
    columns = sorted({tile_kv for _, tile_kv in rates})

    def cell(at):
        if at not in rates:
            return ""
        text = f"{rates[at]:.0f}" + (" (default)" if at == default else "")
        return f"**{text}**" if at == best else text

    return Body(["tile_q \\ tile_kv", *map(str, columns)],
                [[str(tile_q), *(cell((tile_q, tile_kv)) for tile_kv in columns)] for tile_q in sorted({row for row, _ in rates})],
                runs_of(pairs))


def host(root, runs):
    return table(runs, 1000)


def gpu(root, runs):
    return table(runs, 1)


def tuned_case(row):
    return tuple(row[name] for name in ("spec", "dtype", "head_dim", "batch", "heads", "length", "family"))


def tuned_cells(row):
    return [f"{row['spec']} {row['dtype']} d{row['head_dim']}", f"B{row['batch']} H{row['heads']} N{row['length']}", row["family"] or "all"]


def tuned(root, runs):
    """What a search finds on a GPU beside the exhaustive one, and how the model orders plans."""
    pairs = newest(runs, "rows", tuned_case)

    def cells(row):
        return [*tuned_cells(row), f"{row['timed']} of {row['legal']}", f"{row['tune_seconds']:.1f}", f"{row['exhaustive_seconds']:.0f}", f"{row['of_best']:.3f}",
                f"{row['gain']:.2f}", f"{row['spearman']:.2f}", f"{row['of_top_3']:.2f}"]

    return Body(["spec", "problem", "kernels", "plans timed", "s", "all plans, s", "tuned / fastest", "default / tuned", "Spearman",
                 "model's first three / fastest"], [cells(row) for _, row in pairs], runs_of(pairs))


def fastest_on_both(root, *records):
    """The fastest of all plans on either GPU, of the cases that both have measured."""
    pairs = [newest(runs, "rows", tuned_case) for runs in records]
    first, second = ({tuned_case(row): row["best"] for _, row in of} for of in pairs)

    def plan(text):
        family, found = text.split()[0], dict(re.findall(r"(\w+)=(\d+)", text))
        return f"{family} {found['tile_q']} x {found['tile_kv']}, {found['warps']} warps, {found['stages']} stage{'s' * (found['stages'] != '1')}"

    rows = [[*tuned_cells(row), plan(first[tuned_case(row)]), "the same" if second[tuned_case(row)] == first[tuned_case(row)]
             else plan(second[tuned_case(row)])] for _, row in pairs[0] if tuned_case(row) in second]
    names = [runs[0]["device"].split(",")[0] for runs in records]
    return Body(["spec", "problem", "kernels", *(f"the fastest on an {name.removeprefix('NVIDIA ')}" for name in names)], rows,
                [run for of in pairs for run in runs_of(of)])


def buckets(root, runs):
    """Which calls take a plan of their own on each GPU, its tile_q x tile_kv, and the model's gain over the plan for all other calls."""
    pairs = newest(runs, "rows", lambda row: (row["gpu"], row["head_dim"]))
    rows = {(row["gpu"], row["dtype"], row["head_dim"]): row["plans"] for _, row in pairs}
    dims = sorted({dim for *_, dim in rows})

    def cell(plans):
        own = []
        for plan in plans[:-1]:
            tile_q, tile_kv = (re.search(rf"{name}=(\d+)", plan["plan"])[1] for name in ("tile_q", "tile_kv"))
            own.append(f"{plan['calls']}: {tile_q} x {tile_kv}, {times(plan['single_ms'] / plan['predicted_ms'])}")
        return "<br>".join(own) or "one plan"

    return Body(["GPU, dtype", *(f"d{dim}" for dim in dims)],
                [[f"{gpu}, {dtype}", *(cell(rows[gpu, dtype, dim]) for dim in dims)] for gpu, dtype in dict.fromkeys(key[:2] for key in rows)],
                runs_of(pairs))


def shipped(root):
    """What the tables of tuned/ hold: a row for each GPU and way of finding plans."""
    rows = []
    for file in sorted((root / "tuned").glob("*.jsonl")):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for found in sorted({line["found"] for line in lines}):
            those = [line for line in lines if line["found"] == found]
            gains = [line["default_ms"] / line["ms"] for line in those if line["plan"] != line["default_plan"]]
            kernels = {(line["spec"], line["dtype"], line["head_dim"]) for line in those}
            rows.append([file.stem, found, ", ".join(sorted({line["dtype"] for line in those})),
                         ", ".join(f"d{dim}" for dim in sorted({line["head_dim"] for line in those})), str(len(kernels)),
                         ", ".join(f"N{length}" for length in sorted({line["size"]["q_len"] for line in those})), str(len(gains)),
                         f"{math.exp(sum(map(math.log, gains)) / len(gains)):.2f}" if gains else "", f"{max(gains):.2f}" if gains else "",
                         ", ".join(sorted({line["commit"][:7] for line in those}))])
    return Body(["GPU", "plans were", "dtype", "head_dim", "kernels", "lengths", "plans faster than the compiler's own choice then",
                 "its time over theirs, geometric mean", "at most", "commit"], rows, [])
