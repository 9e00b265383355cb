"""Which figures the page must have: those of the records that every checkout has, and those of records that are there."""
import pathlib

ALWAYS = ("chart-forward", "chart-sm90", "chart-variants", "chart-roofline", "chart-tile-kv", "table-gpt2", "chart-host", "chart-plans")
BY_RECORD = {"chart-length": "h200_time_and_memory", "chart-density": "h200_block_sparsity", "chart-plans-gpu": "h200_plans"}


def required(results):
    """Their ids. `results`: the folder of the records."""
    return [*ALWAYS, *(name for name, record in BY_RECORD.items() if (pathlib.Path(results) / f"{record}.json").exists())]
