"""What the tests share: a cache of their own, and the package that was built (scripts/test sets PYTHONPATH)."""

import os
import runpy
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# Before facet is imported anywhere: the user's own cache neither helps the tests nor is filled by them.
if "FA_CACHE_DIR" not in os.environ:
    _cache = tempfile.TemporaryDirectory(prefix="facet-tests-")
    os.environ["FA_CACHE_DIR"] = _cache.name


@pytest.fixture(autouse=True)
def seeded():
    import torch

    torch.manual_seed(0)


@pytest.fixture
def run_script(monkeypatch, capsys):
    """Runs a script with arguments as Python's command does, but in this process, which has imported PyTorch: that takes seconds.
    Returns its status and output."""

    def run(script, *arguments):
        monkeypatch.setattr(sys, "argv", [str(script), *arguments])
        monkeypatch.syspath_prepend(str(script.parent))
        status = 0
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            status = end.code or 0
        if not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(sys.argv, status, out, err)

    return run


@pytest.fixture
def gpu():
    """Skips a test where PyTorch finds no NVIDIA GPU; with FA_REQUIRE_GPU=1 in the environment it fails instead."""
    import torch

    if not torch.cuda.is_available():
        if os.environ.get("FA_REQUIRE_GPU") == "1":
            pytest.fail("FA_REQUIRE_GPU=1, and PyTorch finds no NVIDIA GPU")
        pytest.skip("PyTorch finds no NVIDIA GPU")


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """Each device that kernels run on."""
    if request.param == "cuda":
        request.getfixturevalue("gpu")
    return request.param
