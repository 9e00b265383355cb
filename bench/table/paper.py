"""Tables of bench/tables.py that stand for figures of the FlashAttention paper: Facet's kernels beside standard attention and algorithm 1
(docs/baselines.md). Each function takes the root of the checkout and the runs of a record, and returns a Body."""
from table.records import Body, ms, newest, runs_of

IMPLS = ("facet", "standard", "flash1")
BYTES = ("measured_bytes", "counted_bytes", "formula_bytes")


def baselines(root, runs):
    """Facet's fused kernels beside standard attention and algorithm 1 (docs/baselines.md)."""
    by_problem = {}
    pairs = newest(runs, "results", lambda row: (row["spec"], row["head_dim"], row["size"]["q_len"], row["impl"]))
    for _, row in pairs:
        by_problem.setdefault((row["spec"], row["head_dim"], row["size"]["q_len"]), {})[row["impl"]] = row["time_ms"]["median"]
    rows = [[spec, str(dim), str(length), *(ms(of[impl]) if impl in of else "" for impl in IMPLS)]
            for (spec, dim, length), of in by_problem.items()]
    return Body(["spec", "head_dim", "N", "facet, ms", "standard, ms", "flash1, ms"], rows, runs_of(pairs))


def traffic_rows(runs):
    return newest(runs, "rows", lambda row: (row["batch"], row["heads"], row["head_dim"], row["length"], row["impl"], row["forced"]))


def gigabytes(count):
    return f"{count / 1e9:.3g}"


def memory_traffic(root, runs):
    """Bytes to and from memory of Facet's kernels, standard attention and algorithm 1: measured beside counted, and the paper's formula."""
    pairs = [pair for pair in traffic_rows(runs) if not pair[1]["forced"]]
    by_problem = {}
    for _, row in pairs:
        by_problem.setdefault((row["batch"], row["heads"], row["length"], row["head_dim"]), {})[row["impl"]] = row
    rows = []
    for (batch, heads, length, dim), of in by_problem.items():
        cells = [f"B{batch} H{heads} N{length} D{dim}"]
        for impl in IMPLS:
            row = of.get(impl)
            cells += [ms(row["ms"]), f"{row['tflops']:.0f}", *(gigabytes(row[kind]) for kind in BYTES)] if row else [""] * 5
        rows.append(cells)
    heads = ["problem"] + [f"{impl}: {what}" for impl in IMPLS
                           for what in ("ms", "TFLOP/s", "GB", "GB by count", "GB by formula")]
    return Body(heads, rows, runs_of(pairs))


def tile_kv(root, runs):
    """Algorithm 1, standard attention and Facet's kernels by the width of their kv tiles."""
    pairs = [pair for pair in traffic_rows(runs) if pair[1]["forced"]]
    by_width = {}
    for _, row in pairs:
        by_width.setdefault(int(row["forced"].removeprefix("tile_kv=")), {})[row["impl"]] = row
    rows = [[str(width), *(cell for impl in IMPLS
                           for cell in ((ms(of[impl]["ms"]), gigabytes(of[impl]["measured_bytes"]), gigabytes(of[impl]["counted_bytes"]))
                                        if impl in of else ("", "", "")))] for width, of in sorted(by_width.items())]
    return Body(["tile_kv", *(f"{impl}: {what}" for impl in IMPLS for what in ("ms", "GB", "GB by count"))], rows,
                runs_of(pairs))


def length_rows(runs):
    return newest(runs, "rows", lambda row: (row["batch"], row["heads"], row["head_dim"], row["length"], row["impl"]))


def time_and_memory(root, runs):
    """Milliseconds and gigabytes by length; what does not fit is said."""
    pairs = length_rows(runs)
    by_problem = {}
    for _, row in pairs:
        by_problem.setdefault((row["batch"], row["heads"], row["length"], row["head_dim"]), {})[row["impl"]] = row

    def cells(row):
        if row is None:
            return ["", ""]
        return ["failed", ""] if "error" in row else [ms(row["ms"]), gigabytes(row["tensor_bytes"] + row["workspace_bytes"])]

    rows = [[f"B{batch} H{heads} N{length} D{dim}", *(cell for impl in IMPLS for cell in cells(of.get(impl)))]
            for (batch, heads, length, dim), of in by_problem.items()]
    return Body(["problem", *(f"{impl}: {what}" for impl in IMPLS for what in ("ms", "GB"))], rows, runs_of(pairs))


def block_sparsity(root, runs):
    """Time by the density of a layout of blocks, beside dense attention's."""
    pairs = newest(runs, "rows", lambda row: (row["spec"], row["density"]))
    dense = next(row for _, row in pairs if row["spec"] == "full")["ms"]
    rows = [[f"{row['density']:.4g}", ms(row["ms"]), f"{row['ms'] / dense:.3f}", f"{row['ms'] / dense / row['density']:.2f}"]
            for _, row in pairs if row["spec"] != "full"]
    return Body(["blocks kept", "ms", "of the dense kernel's time", "of its share"], [["dense", ms(dense), "1", "1"], *rows], runs_of(pairs))
