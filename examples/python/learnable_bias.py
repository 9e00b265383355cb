"""A bias that is learned: one number a head and distance, as in T5 or Swin, found by gradient descent through Facet's kernels.

A teacher attends with a bias that is known; the student starts from zeros and sees the teacher's output alone.
"""
import torch

from facet.torch import attention

SPEC = """
    attention relative_bias
    tensor bias : f32[num_q_heads, 17] grad
    score_mod = score + bias[h, clamp(q_idx - kv_idx, -8, 8) + 8]
"""

torch.manual_seed(0)
heads, length = 2, 64
teacher = torch.randn(heads, 17)
student = torch.zeros(heads, 17, requires_grad=True)
optimizer = torch.optim.Adam([student], lr=0.1)

for step in range(151):
    q, k, v = (torch.randn(4, heads, length, 32) for _ in range(3))
    loss = (attention(q, k, v, SPEC, bias=student) - attention(q, k, v, SPEC, bias=teacher)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:>3}: loss {loss.item():.2e}")

# A number that is added to every distance changes no softmax: compare what is left.
difference = (student - student.mean(1, keepdim=True)) - (teacher - teacher.mean(1, keepdim=True))
print(f"largest difference of the biases: {difference.abs().max().item():.3f}")
assert difference.abs().max() < 0.1
