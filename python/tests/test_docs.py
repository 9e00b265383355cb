"""The programs that README.md and docs/python.md show do run, in the order in which they stand."""

import pathlib
import re

import torch

ROOT = pathlib.Path(__file__).parents[2]


def programs(path, begin=""):
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text[text.index(begin):], re.DOTALL)


def test_readme():
    names = {}
    exec(programs("README.md", "## From Python")[0], names)
    assert names["o"].shape == (1, 8, 1000, 64) and names["o"].requires_grad


def test_python_page():
    arrays, learned, imports, spec, _ = programs("docs/python.md")  # the last names no model
    names = {}
    exec(arrays, names)
    assert names["o"].shape == (1, 8, 1000, 64)
    q = torch.randn(1, 4, 100, 16)
    names = {"torch": torch, "heads": 4, "q": q, "k": q, "v": q, "score_mod": lambda s, b, h, q, k: s * 2, "block_mask": None}
    exec(learned, names)
    assert names["bias"].grad.shape == (4, 17)
    exec("import facet.torch\n" + imports + spec, names)
    assert "score_mod = score * 2" in names["spec"].text
