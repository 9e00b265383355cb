"""The scripts of bench/ start: what they take from each other is there. (bench/report.py needs matplotlib; scripts/report --check runs it.)"""

import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).parents[2] / "bench"
SCRIPTS = sorted(str(path.relative_to(BENCH)) for path in BENCH.rglob("*.py")
                 if "__main__" in path.read_text(encoding="utf-8") and path.name not in ("report.py", "check.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script, run_script):
    done = run_script(BENCH / script, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: " + pathlib.Path(script).name)


@pytest.mark.parametrize("script", [script for script in SCRIPTS if "needs.modules" in (BENCH / script).read_text(encoding="utf-8")])
def test_missing_modules(script):
    """A Python without PyTorch, as a system's is, names what is missing and shows no traceback."""
    done = subprocess.run([sys.executable, "-S", str(BENCH / script), "--help"], capture_output=True, text=True, env={})
    assert done.returncode == 1
    assert done.stderr.startswith(pathlib.Path(script).name + " needs ") and "pip install" in done.stderr and "Traceback" not in done.stderr


def test_records_name_no_folder_of_a_machine():
    sys.path.insert(0, str(BENCH))
    import common

    command = [str(BENCH / "tuning" / "plans.py"), "--facet", "/opt/my facet", "--json=/tmp/a.json", "--plan", "tile_q=64"]
    assert common.portable(command) == "bench/tuning/plans.py --facet 'my facet' --json=a.json --plan tile_q=64"


def test_block_sparsity_changes_the_layout_alone():
    """The spec that bench/block_sparsity.py times is specs/block_sparse.fa with a layout of its own."""
    sys.path.insert(0, str(BENCH))
    import block_sparsity

    text = (BENCH.parent / "specs" / "block_sparse.fa").read_text(encoding="utf-8")
    before, after = (set(lines.splitlines()) for lines in (text, block_sparsity.with_density(text)))
    assert [line.strip() for line in before - after] == ["= i1 == i2 or i2 == 0 or (i0 + i1 + i2) % 4 == 0"]
    assert {line.strip() for line in after - before} == {"param kept : i32 = 16", block_sparsity.EXAMPLE}
    with pytest.raises(SystemExit):
        block_sparsity.with_density("attention other\n")
