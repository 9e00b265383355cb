"""The records of bench/results/ as the page reads them: their runs, the newest rows, and the words that say where they come from."""
import pathlib
import re

from table import records

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def is_there(record):
    return (ROOT / records.RESULTS / f"{record}.json").exists()


def runs(record):
    return records.load(ROOT, record, "the command that it names")


def newest(record, rows, key):
    """The newest row for each key(row), over the runs of a record."""
    return [row for _, row in records.newest(runs(record), rows, key)]


def source(record):
    last = runs(record)[-1]
    device = last.get("device") or last.get("cpu")
    return f"Record <code>{record}.json</code>, {device}, commit {last['commit']}, {last['date'][:10]}."


def numbers(plan):
    """tile_q=96 tile_kv=64 ... of a printed plan, as numbers."""
    return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", plan)}
