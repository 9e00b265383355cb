"""Tables of bench/tables.py about GPUs, by the script that measured them. Each function takes the root of the checkout and the runs
of a record, and returns a Body."""
import math
import os
import re
import statistics

from table.records import Body, Problem, geometric_mean, having, ms, newest, runs_of, times, title

SPEC_FOLDERS = ("bench/variants", "specs")

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


def forward(root, runs):
    """Dense and causal 16-bit forward beside PyTorch's kernels, a line a shape."""
    pairs = peer_rows(runs, "bf16")
    head = ["FA2", "cuDNN", "Facet", "Facet / FA2"]
    lines = {}
    for _, row in pairs:
        lines.setdefault(shape(row), {})[row["is_causal"]] = speeds(row, "fa2", "cudnn")
    rows = [[of, *by_mask.get(False, [""] * len(head)), *by_mask.get(True, [""] * len(head))] for of, by_mask in lines.items()]
    return Body(["TFLOP/s", *(f"dense: {cell}" if i == 0 else cell for i, cell in enumerate(head)),
                 *(f"causal: {cell}" if i == 0 else cell for i, cell in enumerate(head))], rows, runs_of(pairs))


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


def columns_of(n, rows, names):
    """What a table of variants says of length n: cells of its head, and of its lines, the last of which is the means'."""
    head = [f"N = {n}: {VARIANT_HEAD[0]}", *VARIANT_HEAD[1:]]
    return head, [*(variant_cells(rows.get(name)) for name in names), mean_cells(rows.values(), len(names))]


def variants(root, runs, with_kind=False):
    """Facet beside FlexAttention, a line a variant, sorted at the first length."""
    pairs = newest(runs, "variants", lambda row: (row["variant"], row["length"]))
    by_length = {}
    for row in sorted((row for _, row in pairs), key=by_ratio):
        by_length.setdefault(row["length"], {})[row["variant"]] = row
    rows = {name: row for of in reversed(by_length.values()) for name, row in of.items()}
    names = list(dict.fromkeys(name for of in by_length.values() for name in of))
    head = ["variant", *(["kind"] if with_kind else [])]
    lines = [[title(name), *([kind(root, rows[name])] if with_kind else [])] for name in names]
    lines.append(["geometric mean", *([""] if with_kind else [])])
    for n, of in by_length.items():
        of_head, of_lines = columns_of(n, of, names)
        head += of_head
        for line, cells in zip(lines, of_lines):
            line += cells
    return Body(head, lines, runs_of(pairs))


def further_variants(root, runs):
    return variants(root, runs, with_kind=True)


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
    """What the pass that fills the tile map adds to a call, and what it takes alone."""
    def share(row):
        return row["stream"]["added_us"] / row["stream"]["forward_us"]

    pairs = newest(runs, "rows", lambda row: row["mask"])
    every = sorted((row for _, row in pairs if "stream" in row), key=lambda row: -share(row))
    rows = [[title(row["mask"]), f"{row['stream']['forward_us']:.0f}", f"{row['stream']['added_us']:.1f}", f"{share(row):.1%}",
             f"{row['map_us']:.1f}"] for row in every]
    return Body(["mask", "forward without the pass, us", "the pass adds, us", "share", "the pass alone, us"], rows, runs_of(pairs))


# Other records


def before_after(root, runs):
    """Forward kernels of two commits in turns: the geometric mean over the specs of a configuration, and the slowest."""
    pairs = newest(runs, "rows", lambda row: (row["gpu"], row["dtype"], row["head_dim"], row["spec"]))
    by_config = {}
    for _, row in pairs:
        by_config.setdefault((row["gpu"], row["dtype"], row["head_dim"]), {})[row["spec"]] = row["after_ms"] / row["before_ms"]
    rows = []
    for (gpu, dtype, dim), of in sorted(by_config.items()):
        slowest = max(of, key=of.get)
        rows.append([{"own": "the GPU's own", "a100": "sm_80", "t4": "sm_75"}[gpu], dtype, str(dim), str(len(of)), f"{geometric_mean(of.values()):.3f}",
                     f"{of[slowest]:.3f}", title(slowest)])
    return Body(["kernels", "dtype", "head_dim", "specs", "geometric mean", "largest", "of"], rows, runs_of(pairs))


def plans_by_length(root, runs):
    """Measured over predicted time of forced plans, a line each, by mask and length."""
    pairs = newest(runs, "rows", lambda row: (row["head_dim"], row["plan"], row["spec"], row["length"]))
    lengths = sorted({row["length"] for _, row in pairs})
    specs = list(dict.fromkeys(row["spec"] for _, row in pairs))
    by_plan = {}
    for _, row in pairs:
        by_plan.setdefault((row["head_dim"], row["plan"]), {})[row["spec"], row["length"]] = row
    cell = lambda row: f"{ms(row['ms'])}, {row['ms'] / row['predicted_ms']:.2f}" if row else ""
    rows = [[str(dim), plan.split()[0], " x ".join(re.findall(r"tile_(?:q|kv)=(\d+)", plan)),
             *(cell(of.get((spec, length))) for spec in specs for length in lengths)] for (dim, plan), of in by_plan.items()]
    return Body(["head_dim", "kernels", "tile", *(f"{title(spec)} N{length}" for spec in specs for length in lengths)], rows, runs_of(pairs))


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


def sm90(root, runs):
    """Kernels for Hopper beside those for sm_80, a line a spec, the largest gain first."""
    pairs = newest(runs, "rows", lambda row: (row["head_dim"], row["length"], row["spec"]))
    gain = lambda row: row["sm80_ms"] / row["sm90_ms"]
    tile = lambda plan: " x ".join(re.findall(r"tile_(?:q|kv)=(\d+)", plan))
    rows = [[title(row["spec"]), str(row["head_dim"]), ms(row["sm80_ms"]), tile(row["sm80_plan"]), ms(row["sm90_ms"]),
             tile(row["sm90_plan"]), f"{gain(row):.2f}"]
            for _, row in sorted(pairs, key=lambda pair: (-pair[1]["head_dim"], -gain(pair[1])))]
    return Body(["spec", "head_dim", "sm80, ms", "tile", "sm90, ms", "tile", "gain"], rows, runs_of(pairs))


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
