"""The programs of examples/python run, at sizes for a test; each asserts what it shows."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"
ARGUMENTS = {"million_tokens.py": ["65536"], "tiny_gpt.py": ["25"]}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_example(name):
    done = subprocess.run([sys.executable, EXAMPLES / name, *ARGUMENTS.get(name, [])], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout
