"""The tables of bench/tables.py about backward passes: on CPUs, and of each spec beside dense attention on a GPU."""
import math
import statistics

from table.records import Body, ms, newest, runs_of, times

HOSTS = {"host_zen4_backward_f32": "Zen 4 EPYC", "host_zen4_backward_bf16": "Zen 4 EPYC"}


def peer_cell(row, peer):
    """PyTorch's ms, and how many times Facet's they are; empty where the row has no such peer."""
    if peer not in row["peers"]:
        return ""
    measured = row["peers"][peer]
    return f"{statistics.median(measured['ms']):.0f}, {measured['way']} ({times(measured['ratio'])})"


def host(root, *records):
    """A forward and a backward pass beside PyTorch's autograd, a line a machine, dtype and mask."""
    rows, shown = [], []
    for runs, cpu in zip(records, HOSTS.values()):
        pairs = newest(runs, "rows", lambda row: row["row"])
        for run, row in pairs:
            rows.append([f"{cpu}, {run['dtype']}", row["row"], f"{statistics.median(row['facet_ms']):.0f}",
                         f"{statistics.median(row['facet_backward_ms']):.0f}",
                         peer_cell(row, "sdpa") or peer_cell(row, "sdpa, mask"), peer_cell(row, "sdpa, is_causal")])
        shown += runs_of(pairs)
    return Body(["2 cores of a", "mask", "Facet, both passes, ms", "of it backward", "PyTorch, the mask as a tensor, ms",
                 "PyTorch, is_causal, ms"], rows, shown)


def eager(root, runs):
    """The error of gradients beside PyTorch eager's, by dtype and gradient."""
    pairs = newest(runs, "cases", lambda row: row["number"])
    worst = lambda of: f"{max(of):.2f}" if math.isfinite(max(of)) else "eager exact"
    rows = []
    for dtype in sorted({row["dtype"] for _, row in pairs}):
        for name in "qkv":
            of = [row["gradients"][name] for _, row in pairs if row["dtype"] == dtype]
            ratio, rms = ([one[key] for one in of] for key in ("ratio", "rms_ratio"))
            rows.append([dtype, name, str(len(ratio)), f"{statistics.median(ratio):.2f}", worst(ratio),
                         str(sum(one > 2 for one in ratio)), f"{statistics.median(rms):.2f}", worst(rms)])
    return Body(["dtype", "of", "cases", "median", "worst", "above 2", "rms median", "rms worst"], rows, runs_of(pairs))


def share(root, runs):
    """Each spec's backward pass on a GPU beside dense times its share of tiles, and the cost of `deterministic`."""
    pairs = newest(runs, "rows", lambda row: (row["spec"], row["head_dim"]))
    rows = [[row["spec"], str(row["head_dim"]), ms(row["backward_ms"]), f"{row['share_of_tiles']:.3f}",
             times(row["backward_ms"] / (row["dense_ms"] * row["share_of_tiles"])), ms(row["deterministic_ms"]),
             times(row["deterministic_ms"] / row["backward_ms"])]
            for _, row in sorted(pairs, key=lambda pair: pair[1]["backward_ms"] / pair[1]["share_of_tiles"])]
    return Body(["spec", "head_dim", "backward, ms", "share of tiles", "beside dense x share", "deterministic, ms", "times"], rows,
                runs_of(pairs))
