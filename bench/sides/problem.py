"""What is compared: a variant at a size, its inputs, and its exact output at a sample of rows."""
import math
from dataclasses import dataclass

import torch

from flex.variant import Variant

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
L2_BYTES = 200e6  # more than the L2 of any GPU, and than the caches of most CPUs


@dataclass(frozen=True)
class Problem:
    name: str
    variant: Variant
    batch: int
    heads: int
    kv_heads: int
    length: int
    head_dim: int
    dtype: str
    device: str

    @property
    def plain(self):
        """Whether every attention library knows it: full or causal."""
        return self.name in ("full", "causal")

    @property
    def scale(self):
        return self.variant.scale or 1 / math.sqrt(self.head_dim)

    def line(self):
        return f"{self.name} {self.dtype} B{self.batch} H{self.heads}/{self.kv_heads} N{self.length} D{self.head_dim}"

    def inputs(self):
        """q [B, H, N, D], k and v [B, Hkv, N, D]."""
        return [torch.randn(self.batch, heads, self.length, self.head_dim, device=self.device, dtype=DTYPES[self.dtype])
                for heads in (self.heads, self.kv_heads, self.kv_heads)]

    def input_sets(self):
        """So many inputs that no cache holds all of them."""
        size = sum(tensor.numel() * tensor.element_size() for tensor in self.inputs())
        return [self.inputs() for _ in range(max(1, math.ceil(L2_BYTES / size)))]

    def logits(self, q, k, rows, first_head=0):
        """Logits of these rows, in the type of q: q [B, H', R, D] of the heads from first_head on, k of as many heads. Masked ones are -inf."""
        index = lambda values, axis: values.view([-1 if i == axis else 1 for i in range(4)])
        every = lambda size: torch.arange(size, device=self.device)
        b, h, i, j = index(every(self.batch), 0), index(first_head + every(q.shape[1]), 1), index(rows, 2), index(every(self.length), 3)
        logits = (q @ k.mT) * self.scale
        if self.variant.score_mod is not None:
            logits = self.variant.score_mod(logits, b, h, i, j)
        if self.variant.mask_mod is not None:
            logits = logits.masked_fill(~self.variant.mask_mod(b, h, i, j), -math.inf)
        return logits

    def exact(self, q, k, v, rows):
        """Rows `rows` of the last head's output in the type of q, k and v: [B, R, D]. An empty row's is zero."""
        logits = self.logits(q[:, -1:, rows], k[:, -1:], rows, self.heads - 1)
        empty = (logits == -math.inf).all(-1, keepdim=True)
        prob = torch.softmax(logits.masked_fill(empty, 0), -1).masked_fill(empty, 0)
        return (prob @ v[:, -1:])[:, 0]

    def why_wrong(self, output, q, k, v, samples=64):
        """Why an output [B, H, N, D] is not this problem's, or None: a sample of the last head's rows against fp64."""
        rows = torch.linspace(0, self.length - 1, min(samples, self.length), device=self.device).long()
        error = float((output[:, -1, rows].double() - self.exact(q.double(), k.double(), v.double(), rows)).abs().max())
        bound = 8 * torch.finfo(DTYPES[self.dtype]).eps * max(1.0, float(v[:, -1].abs().max()))
        return None if error <= bound else f"off by {error:.2g}, more than {bound:.2g}"

    def why_gradients_wrong(self, forward, q, k, v):
        """Why the gradients of `forward` are not this problem's, or None: those of the last head's output against fp64, each by the norm
        of its error over its own."""
        learned = self.variant.learned
        leaves = [tensor.detach().requires_grad_() for tensor in (q, k, v)]
        output = forward(*leaves)
        d_o = torch.zeros_like(output)
        d_o[:, -1] = torch.randn_like(d_o[:, -1])
        found = torch.autograd.grad(output, (*leaves, *learned), d_o)
        exact_leaves = [leaf.detach()[:, -1:].double().requires_grad_() for leaf in leaves]
        rows = torch.arange(self.length, device=self.device)
        exact = torch.autograd.grad(self.exact(*exact_leaves, rows), (*exact_leaves, *learned), d_o[:, -1].double())
        # P and dS are rounded to 16 bits before they are multiplied; f32 products may be three of TF32.
        bound = max(4 * torch.finfo(DTYPES[self.dtype]).eps, 1e-5)
        for i, name in enumerate(("dq", "dk", "dv", *(f"gradient {n} of what it learns" for n in range(len(learned))))):
            value = found[i][:, -1:] if i < 3 else found[i]
            error = float(torch.linalg.vector_norm(value.double() - exact[i]) / torch.linalg.vector_norm(exact[i].double()))
            if not error <= bound:
                return f"{name} is off by {error:.2g} of its norm, more than {bound:.2g}"
        return None
