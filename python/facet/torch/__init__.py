"""Facet for PyTorch: attention from a spec, and FlexAttention's programs."""

from .attention import attention

__all__ = ["attention"]
