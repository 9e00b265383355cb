#!/usr/bin/env python3
"""Makes the report, one self-contained HTML page: measured figures from bench/results/, and every spec of specs/ with its tile map.

    scripts/report [-o FILE]        sets everything up and runs this

Charts are drawn from the records that bench/tables.py reads, and say which; the gallery is computed by `facet explain` for an
H200, on any machine.
"""
import argparse
import pathlib
import subprocess
import sys

from page import charts, gallery, markup, paper
from page.recorded import ROOT, newest, runs, source
from table import records

PEAK_TFLOPS, BYTES_PER_S = 781, 4.294e12  # cuBLAS 8192^3 in bf16 and a device copy on the H200 of the records


def beside_peers(record):
    rows = newest(record, "rows", lambda row: (row["batch"], row["heads"], row["length"], row["head_dim"], row["dtype"],
                                               row["is_causal"], row["group"]))
    return [row for row in rows if "facet" in row and {"fa2", "cudnn"} <= row["tflops"].keys()]


def forward_chart():
    return charts.forward(beside_peers("h200_peers_tuned"), beside_peers("h200_peers"))


def variants_chart():
    rows = [row for row in newest("h200_variants_vs_flex", "variants", lambda row: (row["variant"], row["length"]))
            if row["length"] == 8192 and "needed_ratio" in row]
    return charts.bars([row["variant"] for row in rows], [row["needed_ratio"] for row in rows],
                       "FlexAttention, its block mask included / Facet", 1)


def forward_figures(chart):
    sm90 = [row for row in newest("h200_sm90_beside_sm80", "rows", lambda row: (row["spec"], row["length"], row["head_dim"]))
            if row["head_dim"] == 128]
    return (markup.figure("chart-forward", chart, "Forward, bf16, 16k tokens in all; length 512 tuned for ten seconds. "
                          + source("h200_peers_tuned") + " " + source("h200_peers"))
            + markup.figure("chart-sm90", charts.bars([row["spec"] for row in sm90], [row["sm80_ms"] / row["sm90_ms"] for row in sm90],
                                                   "time of the sm_80 kernel / time of the sm_90 kernel", 1),
                          "What Hopper's own kernels gain, B2 H16 N8192 D128. " + source("h200_sm90_beside_sm80")))


def measured_times(entries):
    """Milliseconds by spec at B2 H16 N8192 D128, bf16, of the family of kernels that the compiler chooses."""
    rows = {row["spec"]: row for row in newest("h200_sm90_beside_sm80", "rows", lambda row: (row["spec"], row["head_dim"]))
            if row["head_dim"] == 128 and row["length"] == 8192}
    return {entry.name: rows[entry.name][f"{entry.family}_ms"] for entry in entries if entry.name in rows}


def roofline_figure(entries, measured):
    points = [(entry.name, entry.facts["flops"] * entry.share, entry.facts["bytes"]["least"], measured[entry.name])
              for entry in entries if entry.name in measured]
    return markup.figure("chart-roofline", charts.roofline(points, PEAK_TFLOPS, BYTES_PER_S),
                       f"B2 H16 N8192 D128, bf16; the lines are cuBLAS' {PEAK_TFLOPS} TFLOP/s and a copy's "
                       f"{BYTES_PER_S / 1e12:.1f} TB/s on the same kind of GPU. " + source("h200_sm90_beside_sm80"))


def host_figures():
    rows = newest("host_zen4_f32", "rows", lambda row: row["row"])
    beside = charts.bars([f"{row['row']}, beside {row['peer']}" for row in rows],
                         [charts.ratio_of_medians(row["peer_ms"], row["facet_ms"]) for row in rows], "PyTorch / Facet", 1)
    plans = [line for line in newest("host_zen4_plans", "results", lambda line: line["plan"]) if "error" not in line]
    default = runs("host_zen4_plans")[-1]["default_plan"]
    heat = charts.plans(plans, default, "GFLOP/s", 1000)
    return (markup.figure("chart-host", beside, "Forward, f32, B1 H8 N2048 D64, two cores; masks made beforehand. " + source("host_zen4_f32"))
            + markup.figure("chart-plans", heat, "Every plan of the tuner for <code>specs/full.fa</code>, f32, on the same machine: the "
                          "frame is the fastest, the dot what the compiler chooses by itself. " + source("host_zen4_plans")))


def show_progress(done, of, name):
    if sys.stderr.isatty():
        print(f"\r\033[K{done} of {of}: {name}", end="\n" if done == of else "", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facet", required=True, help="the facet command")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "docs/report/index.html", help="the page")
    arguments = parser.parse_args()
    entries = gallery.entries(arguments.facet, ROOT / "specs", show_progress)
    measured = measured_times(entries)
    forward, variants = forward_chart(), variants_chart()
    cards = "".join(markup.card(entry, measured.get(entry.name)) for entry in entries)
    version = subprocess.run([arguments.facet, "--version"], capture_output=True, text=True, check=True).stdout.split(" (")[0]
    text = markup.page("Facet: attention, compiled", "A spec of five lines becomes one fused kernel. What it gains, measured; "
                     f"and every spec that ships. Made by <code>scripts/report</code>, {version}.", [
                         ("forward", "Forward on an H200", "Beside FlashAttention-2 and cuDNN, in one run.", forward_figures(forward)),
                         ("variants", "Variants beside FlexAttention", "Facet has no block mask to make.",
                          markup.figure("chart-variants", variants, "Forward, B2 H16 N8192 D128, bf16. "
                                      + source("h200_variants_vs_flex"))),
                         ("roofline", "How near to the limits", "FLOPs are those of the tiles that a mask leaves.", roofline_figure(entries, measured)),
                         ("paper", "The FlashAttention paper's figures", "Standard attention and the paper's algorithm 1 are built from the parts "
                          "of Facet's kernels (<code>--impl standard</code>, <code>--impl flash1</code>).", paper.section()),
                         ("host", "On a CPU", "The same specs through LLVM.", host_figures()),
                         ("gallery", "Every spec", "Tile maps at N = 8192 on an H200, query rows down: grey is never loaded, full tiles are computed "
                          "without the mask, partial ones with it. Times are for B2 H16 N8192 D128, bf16.",
                          f'<div class="gallery">{cards}</div>')])
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(text, encoding="utf-8")
    for name, picture in (("forward", forward), ("variants", variants)):  # which README.md shows
        arguments.output.with_name(f"{name}.svg").write_text(picture, encoding="utf-8")
    print(f"{arguments.output}: {len(entries)} specs, {text.count('class=' + chr(34) + 'chart')} charts, {len(text) // 1024} KiB")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (records.Problem, OSError) as problem:
        sys.exit(f"report: {problem}")
