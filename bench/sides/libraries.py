"""The implementations that bench/compare.py sets side by side: who takes which problem, and how each is called."""
import contextlib
import functools
import importlib
from typing import Callable, NamedTuple, Optional

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import facet.torch


class Side(NamedTuple):
    name: str
    why_not: Callable  # from a Problem to why it is not taken, or None
    prepare: Callable  # from a Problem to what takes (q, k, v) and returns o; making the mask is part of it
    has_backward: Callable = lambda problem: True
    is_slow: bool = False  # to compile: minutes a problem
    module: Optional[str] = None  # that must be importable, where PyTorch does not bring it
    within: Callable = contextlib.nullcontext  # the context of its calls, entered before any is timed
    load: Callable = lambda: None  # imports what only it needs, which is no part of a first call


def by_facet(problem):
    variant, mask = problem.variant, None
    if variant.mask_mod is not None:
        mask = facet.torch.create_block_mask(variant.mask_mod, *sizes(problem), device=problem.device)
    return lambda q, k, v: facet.torch.flex_attention(q, k, v, variant.score_mod, mask, scale=problem.scale,
                                                      enable_gqa=problem.heads != problem.kv_heads)


def by_spec(impl):
    """The same program as a spec, which is what a call of `attention` costs."""

    def prepare(problem):
        variant, mask = problem.variant, None
        if variant.mask_mod is not None:
            mask = facet.torch.create_block_mask(variant.mask_mod, *sizes(problem), device=problem.device)
        made = []

        def run(q, k, v):
            if not made:
                made.append(facet.torch.flex_spec(q, k, v, variant.score_mod, mask, scale=problem.scale))
            spec, captured = made[0]
            return facet.torch.attention(q, k, v, spec, impl=impl, captured=captured)

        return run

    return prepare


def sizes(problem):
    """The sizes of create_block_mask: a mask that is the same for all heads or batch entries is made once."""
    return (problem.batch if problem.variant.by_batch else None, problem.heads if problem.variant.by_head else None,
            problem.length, problem.length)


@functools.cache
def flex(mode):
    """flex_attention and create_block_mask, compiled. To import PyTorch's compiler takes longer than all else that a run begins with."""
    module = importlib.import_module("torch.nn.attention.flex_attention")
    torch._dynamo.config.cache_size_limit = 1000
    return torch.compile(module.flex_attention, dynamic=False, mode=mode), torch.compile(module.create_block_mask)


def by_flex(options, mode=None):
    def prepare(problem):
        compiled, make = flex(mode)
        variant, mask = problem.variant, None
        if variant.mask_mod is not None:
            mask = make(variant.mask_mod, *sizes(problem), device=problem.device)
        return lambda q, k, v: compiled(q, k, v, score_mod=variant.score_mod, block_mask=mask, scale=problem.scale,
                                        enable_gqa=problem.heads != problem.kv_heads, **options)

    return prepare


def by_sdpa(problem):
    return lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=problem.name == "causal", scale=problem.scale,
                                                        enable_gqa=problem.heads != problem.kv_heads)


def by_backend(*backends):
    """`within` of a side that PyTorch chooses by a context."""
    return lambda: sdpa_kernel(list(backends))


def standard(problem):
    """S and P in memory, one operator after the other."""
    rows = torch.arange(problem.length, device=problem.device)
    group = problem.heads // problem.kv_heads

    def run(q, k, v):
        logits = problem.logits(q, k.repeat_interleave(group, 1), rows)
        return torch.softmax(logits, -1).to(q.dtype) @ v.repeat_interleave(group, 1)

    return run


def by_flash_attention(module):
    def prepare(problem):
        function = importlib.import_module(module).flash_attn_func

        def run(q, k, v):
            found = function(*(x.transpose(1, 2) for x in (q, k, v)), softmax_scale=problem.scale, causal=problem.name == "causal")
            return (found[0] if isinstance(found, tuple) else found).transpose(1, 2)

        return run
    return prepare


def importable(module):
    try:
        importlib.import_module(module)
    except Exception as error:  # a library built for another CUDA raises what it likes
        return f"{module} cannot be imported: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    return None


def only(*conditions):
    """why_not of a side: the first reason of (problem -> whether it is fine, reason)."""
    def why_not(problem) -> Optional[str]:
        return next((reason for fine, reason in conditions if not fine(problem)), None)
    return why_not


ON_GPU = (lambda problem: problem.device == "cuda", "GPUs only")
ON_CPU = (lambda problem: problem.device == "cpu", "CPUs only")
PLAIN = (lambda problem: problem.plain, "full and causal attention only")
IN_16_BITS = (lambda problem: problem.dtype != "f32", "16 bits only")
IN_F32 = (lambda problem: problem.dtype == "f32", "here for f32, which the others have no kernel for")
# The scores in f32 and twice in the dtype.
FITS = (lambda problem: problem.batch * problem.heads * problem.length**2 * 8 < 16e9, "S and P would take more than 16 GB")


def flash_attention(name, module):
    def why_not(problem):
        return only(ON_GPU, PLAIN, IN_16_BITS)(problem) or importable(module)
    return Side(name, why_not, by_flash_attention(module), module=module)


AUTOTUNED = "max-autotune-no-cudagraphs"  # torch.compile's mode

SIDES = [
    Side("facet", only(), by_facet),
    Side("facet, spec", only(), by_spec("facet")),
    Side("facet, standard", only(FITS), by_spec("standard"), lambda problem: False),
    Side("fa2", only(ON_GPU, PLAIN, IN_16_BITS), by_sdpa, within=by_backend(SDPBackend.FLASH_ATTENTION)),
    Side("cudnn", only(ON_GPU, PLAIN, IN_16_BITS), by_sdpa, within=by_backend(SDPBackend.CUDNN_ATTENTION)),
    Side("memory-efficient", only(ON_GPU, PLAIN, IN_F32), by_sdpa, within=by_backend(SDPBackend.EFFICIENT_ATTENTION)),
    flash_attention("fa3", "flash_attn_interface"),
    flash_attention("fa4", "flash_attn.cute"),
    Side("sdpa", only(ON_CPU, PLAIN), by_sdpa, within=by_backend(SDPBackend.FLASH_ATTENTION, SDPBackend.MATH)),
    Side("flex", only(), by_flex({}), lambda problem: problem.device == "cuda", load=functools.partial(flex, None)),
    Side("flex, FLASH", only(ON_GPU, IN_16_BITS), by_flex({"kernel_options": {"BACKEND": "FLASH"}}), load=functools.partial(flex, None)),
    Side("flex, autotuned", only(ON_GPU), by_flex({}, AUTOTUNED), is_slow=True,
         load=functools.partial(flex, AUTOTUNED)),
    Side("standard", only(FITS), standard),
]
