"""Prints the first distance of each of T5's buckets as PyTorch computes them in f32, for tests/numeric/buckets.cpp.

    python3 bench/accuracy/t5_buckets.py
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import needs

needs.modules("torch")

import torch


def first_of_each(buckets, count):
    return [int((buckets == bucket).nonzero()[0]) for bucket in range(count)]


def two_sided(n):
    far = 8 + (torch.log(n.clamp(min=1).float() / 8) / math.log(128 / 8) * 8).to(torch.int64)
    return torch.where(n < 8, n, far.clamp(max=15))


def causal(n):
    far = 16 + (torch.log(n.clamp(min=1).float() / 16) / math.log(128 / 16) * 16).to(torch.int64)
    return torch.where(n < 16, n, far.clamp(max=31))


for device in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
    n = torch.arange(8193, device=device)
    print(f"PyTorch {torch.__version__}, {device}")
    print("  two-sided", first_of_each(two_sided(n), 16))
    print("  causal   ", first_of_each(causal(n), 32))
