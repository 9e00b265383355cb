"""The figures of the FlashAttention paper, from Facet's own kernels: HBM bytes and time by the width of a kv tile, the table of GPT-2 medium,
time and memory by length, time by the density of a layout of blocks. Each is a piece of HTML."""
from page import charts, figures, markup, recorded

IMPLS = {"standard": "standard attention", "flash1": "algorithm 1", "facet": "Facet"}
TRAFFIC = "h200_memory_traffic"
GPT2_MEDIUM = {"batch": 64, "heads": 16, "length": 1024, "head_dim": 64}


def traffic_rows():
    return recorded.newest(TRAFFIC, "rows", lambda row: (row["batch"], row["heads"], row["head_dim"], row["length"], row["impl"], row["forced"]))


def series(rows, x, y):
    """Points (x, y) of each implementation, in the order of x."""
    return {name: sorted((x(row), y(row)) for row in rows if row["impl"] == impl) for impl, name in IMPLS.items()}


def tile_kv():
    rows = [row for row in traffic_rows() if row["forced"].startswith("tile_kv=")]
    width = lambda row: recorded.numbers(row["plan"])["tile_kv"]
    shape = "B{batch} H{heads} N{length} D{head_dim}".format(**rows[0])
    picture = charts.lines([("GB to and from memory, by ncu", series(rows, width, lambda row: row["measured_bytes"] / 1e9)),
                            ("ms", series(rows, width, lambda row: row["ms"]))], "tile_kv")
    return markup.figure("chart-tile-kv", picture, f"Forward, dense, bf16, {shape}, where an implementation takes the width. Algorithm 1 reads and "
                         "writes its output once a kv tile, so that wide tiles move less; a fused kernel with queries outside moves the same bytes "
                         "whatever the width. " + recorded.source(TRAFFIC))


def gpt2():
    rows = {row["impl"]: row for row in traffic_rows() if not row["forced"] and all(row[key] == value for key, value in GPT2_MEDIUM.items())}
    cells = [[name, f"{of['tflops'] * of['ms']:.1f}", f"{of['measured_bytes'] / 1e9:.2f}", f"{of['ms']:.3f}", f"{of['tflops']:.0f}"]
             for name, of in ((name, rows[impl]) for impl, name in IMPLS.items() if impl in rows)]
    return markup.table("table-gpt2", ["", "GFLOP", "HBM, GB", "ms", "TFLOP/s"], cells,
                        "Attention of GPT-2 medium (B64 H16 N1024 D64), forward, dense, bf16; FLOPs are those of the two products, bytes are by ncu. "
                        + recorded.source(TRAFFIC))


def length():
    record = figures.BY_RECORD["chart-length"]
    rows = recorded.newest(record, "rows", lambda row: (row["length"], row["impl"]))
    timed = [row for row in rows if "error" not in row]
    n = lambda row: row["length"]
    picture = charts.lines([("ms", series(timed, n, lambda row: row["ms"])),
                            ("GB of tensors and workspace", series(timed, n, lambda row: (row["tensor_bytes"] + row["workspace_bytes"]) / 1e9))], "N")
    left_out = [f"{IMPLS[row['impl']]} at N{row['length']}" for row in rows if "error" in row]
    missing = f"Not there, since it could not be run: {', '.join(left_out)}. " if left_out else ""
    shape = "B{batch} H{heads} D{head_dim}".format(**rows[0])
    dtype = recorded.runs(record)[-1]["dtype"]
    return markup.figure("chart-length", picture, f"Forward, dense, {dtype}, {shape}. {missing}" + recorded.source(record))


def density():
    record = figures.BY_RECORD["chart-density"]
    rows = recorded.newest(record, "rows", lambda row: (row["spec"], row["density"]))
    sparse = sorted((row["density"], row["ms"]) for row in rows if row["spec"] != "full")
    dense = next(row["ms"] for row in rows if row["spec"] == "full")
    last = recorded.runs(record)[-1]
    batch, heads, n, head_dim = last["shape"]
    return markup.figure("chart-density", charts.density(sparse, dense),
                         f"<code>specs/block_sparse.fa</code> with layouts that keep a sixteenth of all blocks of 128 keys up to all of them, forward, "
                         f"{last['dtype']}, B{batch} H{heads} N{n} D{head_dim}. " + recorded.source(record))


def plans():
    record = figures.BY_RECORD["chart-plans-gpu"]
    lines = recorded.newest(record, "results", lambda line: line["plan"])
    last = recorded.runs(record)[-1]
    batch, heads, n, head_dim = last["shape"]
    return markup.figure("chart-plans-gpu", charts.plans(lines, last["default_plan"], "TFLOP/s", 1),
                         f"Every tile of the compiler's kernels for <code>specs/{last['spec']}.fa</code>, {last['dtype']}, B{batch} H{heads} N{n} "
                         f"D{head_dim}: the frame is the fastest, the dot what the compiler chooses by itself. " + recorded.source(record))


def section():
    """Those whose records are there."""
    optional = {"chart-length": length, "chart-density": density, "chart-plans-gpu": plans}
    return tile_kv() + gpt2() + "".join(draw() for name, draw in optional.items() if recorded.is_there(figures.BY_RECORD[name]))
