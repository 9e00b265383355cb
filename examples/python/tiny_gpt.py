"""A tiny GPT that learns to continue a made-up text, trained with each of three variants of attention.

    python tiny_gpt.py [STEPS]

The variants are three strings; the model is the same. ALiBi and a window need no position embedding; the third learns a bias of
its own for each head and distance.
"""
import sys

import torch
from torch import nn
from torch.nn import functional

from facet.torch import attention

VARIANTS = {
    "alibi": "attention alibi\n"
             "score_mod = score - exp2(-8.0 * (h + 1) / num_q_heads) * (q_idx - kv_idx)\n"
             "mask_mod = q_idx >= kv_idx",
    "window": "attention window\nscore_mod = score - 0.1 * (q_idx - kv_idx)\nmask_mod = q_idx >= kv_idx and q_idx - kv_idx < 16",
    "learned": "attention learned\n"
               "tensor bias : f32[num_q_heads, 32] grad\n"
               "score_mod = score + bias[h, min(q_idx - kv_idx, 31)]\n"
               "mask_mod = q_idx >= kv_idx",
}
HEADS, DIM, LAYERS, LENGTH = 4, 64, 2, 48


class Block(nn.Module):
    def __init__(self, spec):
        super().__init__()
        self.spec = spec
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))
        self.captured = nn.ParameterDict({"bias": nn.Parameter(torch.zeros(HEADS, 32))} if "bias" in spec else {})

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)  # no copies: any strides
        o = attention(q, k, v, self.spec, **self.captured)
        x = x + self.out(o.transpose(1, 2).reshape(batch, length, DIM))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, spec, letters):
        super().__init__()
        self.embedding, self.head = nn.Embedding(letters, DIM), nn.Linear(DIM, letters)
        self.blocks = nn.Sequential(*(Block(spec) for _ in range(LAYERS)))

    def forward(self, text):
        return self.head(self.blocks(self.embedding(text)))


def text_batch(generator):
    """Words of three letters from a list of twenty, in random order: after two letters the third is mostly known."""
    words = torch.randint(0, 26, (20, 3), generator=torch.Generator().manual_seed(1))
    return words[torch.randint(0, 20, (8, LENGTH // 3 + 1), generator=generator)].flatten(1)[:, : LENGTH + 1]


def train(name, steps):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = GPT(VARIANTS[name], 26)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    first = last = 0.0
    for step in range(steps):
        text = text_batch(generator)
        loss = functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        first, last = first or loss.item(), loss.item()
    print(f"{name:<8} loss {first:.3f} -> {last:.3f} in {steps} steps")
    return first, last


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    for variant in VARIANTS:
        before, after = train(variant, count)
        assert after < before - 1, "it did not learn"
