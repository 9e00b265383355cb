"""The table of bench/tables.py about CPUs."""
import statistics

from table.records import Body, Problem, newest, runs_of, times

HOSTS = {"host_xeon_amx_f32": "Xeon", "host_xeon_amx_bf16": "Xeon", "host_h200s_xeon_f32": "Xeon beside the H200",
         "host_h200s_xeon_bf16": "Xeon beside the H200", "host_zen4_f32": "Zen 4 EPYC"}
# On a machine that others used, too: only ratios count.
ONE_CORE = {"host_zen4_bf16": "Zen 4 EPYC, bf16", "host_zen4_avx2_f32": "the same kept to AVX2, f32"}
HOST_ROWS = ("full", "softcap", "alibi", "causal", "window 256")


def beside(row):
    """How many times as long the peer takes: with its block mask as it is, and compiled, where it makes one."""
    with_mask = row["ratio_with_set_up"]
    return f"{times(with_mask['eager'])} / {times(with_mask['compiled'])}" if with_mask else times(row["ratio"])


def host_cell(row):
    """Facet's ms, and how many times as long the peer takes."""
    return f"{statistics.median(row['facet_ms']):.1f} ({beside(row)})"


def by_name(runs):
    """The newest run's rows by name, which must be all of HOST_ROWS, and the runs that have them."""
    pairs = newest(runs, "rows", lambda row: row["row"])
    rows = {row["row"]: row for _, row in pairs}
    if missing := [name for name in HOST_ROWS if name not in rows]:
        raise Problem(f"{runs[-1].file} has no row {', '.join(missing)}; measure it without --only")
    return rows, runs_of(pairs)


def host(root, *records):
    """Facet on CPUs beside PyTorch, a line a machine and dtype."""
    rows, shown = [], []
    for runs, cpu in zip(records, HOSTS.values()):
        of_cpu, measured = by_name(runs)
        batch, heads, n, dim = runs[-1]["shape"]
        gflops = 4 * batch * heads * n * n * dim / statistics.median(of_cpu["full"]["facet_ms"]) / 1e6
        rows.append([f"{cpu}, {runs[-1].get('dtype', 'f32')}", f"{gflops:.0f}", *(host_cell(of_cpu[name]) for name in HOST_ROWS),
                     f"{runs[-1]['facet_first_ms'] / 1000:.2f}"])
        shown += measured
    return Body(["2 cores of a", "dense, GFLOP/s", "dense, ms", "softcap, ms", "ALiBi and causal, ms", "causal, ms",
                 "window 256, ms", "first call, s"], rows, shown)


def one_core(root, *records):
    """PyTorch's times over Facet's on one core, a line a CPU and dtype."""
    rows, shown = [], []
    for runs, cpu in zip(records, ONE_CORE.values()):
        of_cpu, measured = by_name(runs)
        rows.append([cpu, *(beside(of_cpu[name]) for name in HOST_ROWS)])
        shown += measured
    return Body(["one core of a", "dense", "softcap", "ALiBi and causal", "causal", "window 256"], rows, shown)


def host_tuned(root, runs):
    """What `facet tune` finds on the host beside the default plan and the best of all legal ones."""
    def tiles(plan):
        fields = dict(word.split("=") for word in plan.split() if "=" in word)
        return f"{fields['tile_q']} x {fields['tile_kv']}"

    def case(row):
        return tuple(row[name] for name in ("spec", "dtype", "head_dim", "heads", "length", "cpu_level"))

    pairs = newest(runs, "rows", case)
    rows = []
    for _, row in pairs:
        best = row["ms"][row["best"]]
        level = ", kept to AVX2" if row["cpu_level"] == "avx2" else ""
        default, tuned = (f"{tiles(row[key])}, {row['ms'][row[key]] / best:.3f}" for key in ("default", "tuned"))
        rows.append([f"{row['spec']} {row['dtype']} d{row['head_dim']} H{row['heads']} N{row['length']}{level}", default, tuned, tiles(row["best"]),
                     f"{row['timed']} of {row['legal']}", f"{row['tune_seconds']:.1f}",
                     f"{row['spearman']:.2f}" if "spearman" in row else "", f"{row['of_top_3']:.3f}" if "of_top_3" in row else ""])
    return Body(["case", "default plan, time over the best's", "tuned plan, time over the best's", "best plan", "plans timed", "tuning, s", "Spearman",
                 "the model's first three"], rows, runs_of(pairs))
