"""The report's charts, each from one record of bench/results/ or from the gallery; returned as SVG."""
import io
import statistics

import matplotlib

from page import recorded

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  once the backend is chosen

FACET, PEERS = "#c2571a", ("#5b7fa3", "#8aa67a", "#9c86b5")
plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none",
                     "svg.hashsalt": "facet", "axes.grid": True, "grid.color": "#e8e6e1", "axes.axisbelow": True})


def svg(figure):
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()[text.getvalue().index("<svg"):]


def tflops(row):
    """Facet's, counted as the papers count: half of the scores with a causal mask."""
    flops = 4 * row["batch"] * row["heads"] * row["length"] ** 2 * row["head_dim"] / (2 if row["is_causal"] else 1)
    return flops / row["facet"]["time_ms"]["median"] / 1e9


def forward(rows, rows_of_sm80):
    """TFLOP/s by length, head_dim 64, 128 and 256, dense above and causal below; rows of bench/peers_gpu.py, by the GPU's own
    kernels and by those for sm_80."""
    figure, grid = plt.subplots(2, 3, figsize=(9.5, 5), sharex=True)
    for line, is_causal in zip(grid, (False, True)):
        for axis, head_dim in zip(line, (64, 128, 256)):
            some, of_sm80 = (sorted((row for row in side if row["is_causal"] == is_causal and row["head_dim"] == head_dim
                                     and row["group"] == 1 and row["dtype"] == "bf16" and row["batch"] * row["length"] == 16384),
                                    key=lambda row: row["length"]) for side in (rows, rows_of_sm80))
            lengths = [row["length"] for row in some]
            axis.plot(lengths, [tflops(row) for row in some], "o-", color=FACET, label="Facet")
            axis.plot(lengths, [tflops(row) for row in of_sm80], "o--", color=FACET, alpha=0.6, label="Facet, sm_80 kernels")
            for peer, colour in zip(("fa2", "cudnn"), PEERS):
                axis.plot(lengths, [row["tflops"][peer] for row in some], "o-", color=colour,
                          label={"fa2": "FlashAttention-2", "cudnn": "cuDNN"}[peer])
            axis.set_xscale("log", base=2)
            axis.set_xticks(lengths, [f"{n // 1024}k" if n >= 1024 else str(n) for n in lengths])
            axis.set_ylim(bottom=0)
            axis.set_title(f"head_dim {head_dim}, {'causal' if is_causal else 'dense'}")
    grid[0][0].set_ylabel("TFLOP/s")
    grid[1][0].set_ylabel("TFLOP/s")
    grid[0][0].legend(frameon=False)
    figure.tight_layout()
    return svg(figure)


def bars(names, values, label, reference):
    """Horizontal bars, the longest at the top, with a line at `reference`."""
    order = sorted(range(len(names)), key=lambda i: values[i])
    figure, axis = plt.subplots(figsize=(7.5, 0.26 * len(names) + 0.8))
    axis.barh([names[i] for i in order], [values[i] for i in order],
              color=[FACET if values[i] >= reference else PEERS[0] for i in order])
    for place, i in enumerate(order):
        axis.text(values[i], place, f" {values[i]:.2f}", va="center", fontsize=8)
    axis.axvline(reference, color="#444", linewidth=0.8)
    axis.set_xlabel(label)
    axis.grid(axis="y", visible=False)
    return svg(figure)


def heat(results, tile_q, tile_kv, values, chosen, label):
    """Rates over tile_q x tile_kv, the best one framed and the compiler's own choice marked by a dot; `results` are plans."""
    rows, columns = sorted({plan[tile_q] for plan in results}), sorted({plan[tile_kv] for plan in results})
    best = [[float("nan")] * len(columns) for _ in rows]
    for plan, value in zip(results, values):
        row, column = rows.index(plan[tile_q]), columns.index(plan[tile_kv])
        if not best[row][column] >= value:
            best[row][column] = value
    figure, axis = plt.subplots(figsize=(min(0.75 * len(columns) + 2, 11), 0.42 * len(rows) + 1.2))
    axis.grid(False)
    image = axis.imshow(best, cmap="YlOrBr", aspect="auto", origin="lower")
    middle = (max(values) + min(values)) / 2
    for i in range(len(rows)):
        for j in range(len(columns)):
            if best[i][j] != best[i][j]:  # no plan has this tile
                continue
            colour = "white" if best[i][j] > middle else "black"
            axis.text(j, i, f"{best[i][j]:.0f}", ha="center", va="center", fontsize=8, color=colour)
    flat = [(value, i, j) for i, line in enumerate(best) for j, value in enumerate(line) if value == value]
    _, i, j = max(flat)
    axis.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="#222", linewidth=2))
    if chosen[tile_q] in rows and chosen[tile_kv] in columns:
        axis.plot(columns.index(chosen[tile_kv]) + 0.34, rows.index(chosen[tile_q]) + 0.28, "o", color="#1a5fc2", markersize=5)
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(range(len(rows)), rows)
    axis.set_xlabel(tile_kv)
    axis.set_ylabel(tile_q)
    figure.colorbar(image, label=label)
    return svg(figure)


def plans(lines, default, label, of_tflops):
    """The heat map of bench/tuning/plans.py's lines, tile_q x tile_kv; `default` is the compiler's plan."""
    return heat([recorded.numbers(line["plan"]) for line in lines], "tile_q", "tile_kv", [line["tflops"] * of_tflops for line in lines],
                recorded.numbers(default), label)


def lines(panels, x_label):
    """Side by side, over a power of two and on a logarithmic scale; `panels`: a label and the points (x, y) of each name."""
    figure, axes = plt.subplots(1, len(panels), figsize=(4.7 * len(panels), 3.4))
    places = sorted({x for _, of_name in panels for points in of_name.values() for x, _ in points})
    for axis, (label, of_name) in zip(axes, panels):
        for name, points in of_name.items():
            colour = FACET if name == "Facet" else PEERS[list(of_name).index(name)]
            axis.plot([x for x, _ in points], [y for _, y in points], "o-", color=colour, label=name)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(places, [f"{x // 1024}k" if x >= 1024 else str(x) for x in places])
        axis.set_xlabel(x_label)
        axis.set_ylabel(label)
    axes[0].legend(frameon=False)
    figure.tight_layout()
    return svg(figure)


def density(points, dense):
    """Milliseconds by the share of blocks that a layout keeps, beside that share of the dense kernel's."""
    figure, axis = plt.subplots(figsize=(6, 3.6))
    axis.plot([0, 1], [0, dense], "--", color=PEERS[0], label="share of the dense kernel's time")
    axis.axhline(dense, color="#444", linewidth=0.8, label="dense")
    axis.plot([x for x, _ in points], [y for _, y in points], "o-", color=FACET, label="Facet, block-sparse")
    axis.set_xlabel("share of blocks kept")
    axis.set_ylabel("ms")
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False)
    return svg(figure)


def roofline(points, peak_tflops, bytes_per_s):
    """`points`: name, FLOPs, bytes and milliseconds of each; limits: the tensor cores and memory."""
    figure, axis = plt.subplots(figsize=(7.5, 4.2))
    intensities = [flops / size for _, flops, size, _ in points]
    low, high = min(intensities) / 3, max(intensities) * 2
    knee = peak_tflops * 1e12 / bytes_per_s
    axis.plot([low, knee, high], [low * bytes_per_s / 1e12, peak_tflops, peak_tflops], color="#444", linewidth=1)
    for name, flops, size, milliseconds in points:
        rate = flops / milliseconds * 1e-9
        axis.plot(flops / size, rate, "o", color=FACET, markersize=4)
        axis.annotate(name, (flops / size, rate), xytext=(4, -3), textcoords="offset points", fontsize=7)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("FLOPs of the tiles that the mask leaves, per byte of q, k, v, o and lse")
    axis.set_ylabel("TFLOP/s")
    return svg(figure)


def ratio_of_medians(peer, mine):
    return statistics.median(peer) / statistics.median(mine)
