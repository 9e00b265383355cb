"""The package in a process: beside PyTorch in either order, in a forked child, and what importing it brings."""

import subprocess
import sys

import pytest

PROGRAM = """
import {first}
import {second}
import numpy as np
kernel = facet.compile("attention a\\nhead_dim 8\\ndtype f32", device="cpu")
q = np.ones((1, 2, 5, 8), np.float32)
assert (kernel(q, q, q) == 1).all()
"""

ALONE = """
import sys, facet
facet.compile("attention a", device="cpu")
assert "torch" not in sys.modules and "numpy" not in sys.modules
"""

FORKED = """
import os, torch, facet.torch
q = torch.randn(2, 4, 300, 16)
expected = facet.torch.attention(q, q, q, "attention a")
child = os.fork()
if child == 0:
    same = torch.equal(facet.torch.attention(q, q, q, "attention a"), expected)
    other = facet.torch.attention(q, q, q, "attention b\\nmask_mod = q_idx >= kv_idx")  # compiles in the child
    os._exit(0 if same and other.isfinite().all() else 1)
assert os.waitpid(child, 0)[1] == 0
assert torch.equal(facet.torch.attention(q, q, q, "attention a"), expected)
"""

LOADER = """
import torch, facet.torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i):
        q = torch.full((1, 1, 9, 8), float(i))
        return facet.torch.attention(q, q, q, "attention a")[0]
if __name__ == "__main__":
    facet.torch.attention(*[torch.ones(1, 1, 9, 8)] * 3, "attention a")
    batches = list(torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2))
    assert [int(x) for batch in batches for x in batch[:, 0, 0, 0]] == [0, 1, 2, 3]
"""

TRACED = """
import sys, torch, facet.torch
slopes, q = torch.rand(2), torch.randn(1, 2, 9, 8)
facet.torch.flex_attention(q, q, q, lambda score, b, h, q_idx, kv_idx: score + slopes[h] * (q_idx - kv_idx))
assert "sympy" not in sys.modules  # which takes PyTorch seconds, where something asks for its symbolic shapes
"""


@pytest.mark.parametrize("program", [
    PROGRAM.format(first="facet", second="torch"), PROGRAM.format(first="torch", second="facet"), ALONE, FORKED, LOADER, TRACED,
], ids=["facet first", "torch first", "alone", "forked", "data loader", "traced"])
def test_process(program, tmp_path):
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
