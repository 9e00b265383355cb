"""Tables of bench/tables.py about bench/compare.py's records."""
import statistics

from table.records import Body, geometric_mean, having, ms, newest, runs_of, title


def rows_of(runs, figure, *sides):
    """(run, row)s in which all of these sides have a figure: "ms", "backward_ms" or "first_call_s"."""
    return [(run, row) for run, row in newest(runs, "rows", lambda row: row["problem"])
            if all(figure in row["sides"].get(side, {}) for side in sides)]


def backward(root, runs):
    """Dense and causal backward passes beside PyTorch's kernel of the dtype, a line a shape."""
    lines, shown = {}, []
    for peer in ("fa2", "memory-efficient"):
        pairs = rows_of(runs, "backward_ms", "facet", peer)
        shown += pairs
        for _, row in pairs:
            name, dtype, shape = row["problem"].split(" ", 2)
            theirs, own = (row["sides"][side]["backward_ms"] for side in (peer, "facet"))
            lines.setdefault(f"{dtype} {shape}", {})[name] = [ms(theirs), ms(own), f"{theirs / own:.2f}"]
    empty = [""] * 3
    return Body(["", *(f"{mask}: {cell}" for mask in ("dense", "causal") for cell in ("PyTorch, ms", "Facet, ms", "ratio"))],
                [[shape, *of.get("full", empty), *of.get("causal", empty)] for shape, of in lines.items()], runs_of(shown))


def forward(root, runs):
    """Forward passes beside FlashAttention-2 and cuDNN, a line a shape."""
    pairs = rows_of(runs, "ms", "facet", "fa2", "cudnn")
    rows = []
    for _, row in pairs:
        fa2, cudnn, own = (row["sides"][side]["ms"] for side in ("fa2", "cudnn", "facet"))
        rows.append([row["problem"], ms(fa2), ms(cudnn), ms(own), f"{fa2 / own:.2f}", f"{cudnn / own:.2f}"])
    return Body(["", "FA2, ms", "cuDNN, ms", "Facet, ms", "FA2 / Facet", "cuDNN / Facet"], rows, runs_of(pairs))


def standard(root, runs):
    """Standard attention as Facet's baseline beside PyTorch's operators, a line a shape."""
    pairs = rows_of(runs, "ms", "facet, standard", "standard")
    rows = []
    for _, row in pairs:
        theirs, own = (row["sides"][side]["ms"] for side in ("standard", "facet, standard"))
        rows.append([row["problem"], ms(theirs), ms(own), f"{own / theirs:.2f}"])
    return Body(["", "PyTorch, ms", "Facet's standard, ms", "Facet's / PyTorch's"], rows, runs_of(pairs))


def backward_variants(root, runs):
    """Variants' forward and backward passes beside FlexAttention's."""
    pairs = rows_of(runs, "backward_ms", "facet", "flex")
    rows, ratios = [], []
    for _, row in pairs:
        own, flex = row["sides"]["facet"], row["sides"]["flex"]
        ratios.append((flex["ms"] / own["ms"], flex["backward_ms"] / own["backward_ms"]))
        rows.append([title(row["problem"].split(" ")[0]), ms(own["ms"]), ms(flex["ms"]), f"{ratios[-1][0]:.2f}", ms(own["backward_ms"]),
                     ms(flex["backward_ms"]), f"{ratios[-1][1]:.2f}"])
    means = [f"{geometric_mean(of):.2f}" for of in zip(*ratios)]
    rows.append(["geometric mean", "", "", means[0], "", "", means[1]])
    return Body(["variant", "forward: Facet, ms", "FlexAttention, ms", "ratio", "backward: Facet, ms", "FlexAttention, ms", "ratio"], rows,
                runs_of(pairs))


def first_calls(root, runs):
    """Seconds of the first call of variants, forward and backward, in a new process without caches."""
    pairs = rows_of(runs, "first_call_s", "facet", "flex")
    rows = []
    for _, row in pairs:
        own, flex = (row["sides"][side]["first_call_s"] for side in ("facet", "flex"))
        rows.append([title(row["problem"].split(" ")[0]), f"{own:.2f}", f"{flex:.1f}", f"{flex / own:.0f}"])
    return Body(["variant", "Facet, s", "FlexAttention, s", "times"], rows, runs_of(pairs))


def call_overhead(root, *records):
    """How long a forward call takes on the CPU, a line for each process that measured: the median over its problems, and the range."""
    rows, shown = [], [run for runs in records for run in having(runs, "rows")]
    for number, run in enumerate(shown, 1):
        cells = [str(number), run["device"]]
        for side in ("facet, spec", "fa2", "cudnn", "flex"):
            times = [row["sides"][side]["call_us"] for row in run["rows"] if side in row["sides"]]
            cells.append(f"{statistics.median(times):.1f} ({min(times):.1f} to {max(times):.1f})" if times else "")
        rows.append(cells)
    return Body(["process", "GPU", "Facet, us", "FA2, us", "cuDNN, us", "FlexAttention, us"], rows, shown)
