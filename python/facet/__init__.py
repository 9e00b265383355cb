"""Facet compiles attention: a spec says what a variant computes, and becomes one fused kernel.

    import facet
    import numpy as np

    spec = facet.Spec('''
        attention window
        head_dim 64
        dtype    f32
        param    window : i32 = 256
        mask_mod = q_idx >= kv_idx and q_idx - kv_idx < window
    ''')
    kernel = facet.compile(spec)
    q = k = v = np.random.randn(1, 8, 1000, 64).astype(np.float32)
    o = kernel(q, k, v, window=128)

Arrays come from any library that speaks DLPack: NumPy on the CPU, PyTorch, CuPy, JAX. Programs of PyTorch use
`facet.torch`, which differentiates. The language of specs: docs/spec_language.md; this package: docs/python.md.
"""

from .errors import ArgumentError, BuildError, BundleError, DeviceError, Diagnostic, Error, InternalError, SpecError
from .explain import ClampedRead, Explanation, Tiles
from .kernel import BoundKernel, CompileTimes, Gradients, Impl, Kernel, KernelPlan, compile
from .spec import ParamInfo, Spec, TensorInfo, load

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "BoundKernel", "BuildError", "BundleError", "ClampedRead", "CompileTimes", "DeviceError", "Diagnostic", "Error",
    "Explanation", "Gradients", "Impl", "InternalError", "Kernel", "KernelPlan", "ParamInfo", "Spec", "SpecError", "TensorInfo", "Tiles", "compile", "load",
]
