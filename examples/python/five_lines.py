"""A variant of attention in five lines, on arrays of NumPy.

Each head looks back at every n-th key (dilation), head h with n = h + 1, and no farther than `reach`. `reach` is a run-time
number: changing it compiles nothing.
"""
import numpy as np

import facet

spec = facet.Spec("""
    attention dilated
    head_dim 64
    dtype    f32
    param    reach : i32 = 100
    let distance = q_idx - kv_idx
    mask_mod = distance >= 0 and distance % (h + 1) == 0 and distance <= reach
""")
kernel = facet.compile(spec, device="cpu")

rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 4, 1000, 64)).astype(np.float32) for _ in range(3))
for reach in (1, 100, 999):
    o, lse = kernel(q, k, v, reach=reach, return_lse=True)
    print(f"reach {reach:>3}: a row's largest lse {lse.max():.3f}, |o| {np.abs(o).mean():.4f}")

# The last head looks back by 4, so its row 7 sees the keys 7 and 3 alone.
p = np.exp(q[0, 3, 7] @ k[0, 3, [3, 7]].T / 8)
np.testing.assert_allclose(o[0, 3, 7], p @ v[0, 3, [3, 7]] / p.sum(), atol=1e-5)
