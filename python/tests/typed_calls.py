"""A program that uses the package; test_types.py has mypy read it, nothing runs it. It says which types users are given."""

from typing import Tuple, Union

from torch import Tensor
from typing_extensions import assert_type

import facet
from facet.torch import AuxOutput, AuxRequest, attention, flex_attention


def attention_gives(x: Tensor, spec: facet.Spec, either: bool) -> None:
    assert_type(attention(x, x, x, spec, window=3), Tensor)
    assert_type(attention(x, x, x, spec, return_lse=True), Tuple[Tensor, Tensor])
    assert_type(attention(x, x, x, spec, impl="standard"), Tensor)
    assert_type(attention(x, x, x, spec, return_lse=either), Union[Tensor, Tuple[Tensor, Tensor]])


def flex_attention_gives(x: Tensor, either: bool) -> None:
    assert_type(flex_attention(x, x, x, lambda score, b, h, q_idx, kv_idx: score * 2), Tensor)
    assert_type(flex_attention(x, x, x, None, None, 0.5, True, return_lse=True), Tuple[Tensor, Tensor])
    assert_type(flex_attention(x, x, x, return_aux=AuxRequest(lse=True)), Tuple[Tensor, AuxOutput])
    assert_type(flex_attention(x, x, x, return_lse=either), Union[Tensor, Tuple[Tensor, Tensor], Tuple[Tensor, AuxOutput]])


def specs_and_kernels_give(spec: facet.Spec) -> None:
    kernel = facet.compile(spec, device="cpu", impl="flash1")
    assert_type(kernel.times.total, float)
    assert_type(kernel.spec, facet.Spec)
    assert_type(spec.params[0], facet.ParamInfo)
