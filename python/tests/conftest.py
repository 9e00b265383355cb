"""What the tests share: a cache of their own, and the package that was built (scripts/test sets PYTHONPATH)."""

import os
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
