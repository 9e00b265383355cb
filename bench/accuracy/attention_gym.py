"""attention-gym's masks and score mods on Facet, beside FlexAttention's eager code on the CPU.

    bench/accuracy/attention_gym.py CHECKOUT

CHECKOUT is a clone of github.com/meta-pytorch/attention-gym. Each mod is a Python function; it is traced as it is. The bound is
that of two f32 computations in another order of the same sums, 2e-5 of the largest output. Prints a line a mod: the largest
difference, which share of the tiles of its mask is computed, and whether a tile counts as partial that keeps everything or nothing.
"""
import argparse
import importlib
import json
import pathlib
import sys
import types
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # bench/, whose scripts share what follows

import needs

needs.modules("torch", "facet")

import torch
import torch.nn.functional as F
from torch.nn.attention import flex_attention as pytorch

import facet.torch as facet

BOUND = 2e-5
LENGTH = 256


def load(checkout):
    """The packages of masks and mods, without the parts of attention-gym that need a GPU."""
    sys.path.insert(0, checkout)
    package = types.ModuleType("attn_gym")
    package.__path__ = [f"{checkout}/attn_gym"]
    sys.modules["attn_gym"] = package
    return importlib.import_module("attn_gym.masks"), importlib.import_module("attn_gym.mods")


def cases(masks, mods):
    """(name, score_mod, mask_mod, heads, q_len, kv_len, head_dim)"""
    torch.manual_seed(0)
    heads, n = 4, LENGTH
    mask = lambda name, mod, q=n, kv=n: (name, None, mod, heads, q, kv, 32)  # noqa: E731
    score = lambda name, mod, h=heads, q=n: (name, mod, masks.causal_mask, h, q, q, 32)  # noqa: E731
    causal = masks.causal_mask
    yield mask("causal", causal)
    yield mask("sliding_window", masks.generate_sliding_window(50))
    yield mask("dilated_sliding_window", masks.generate_dilated_sliding_window(64, 4))
    yield mask("prefix_lm", masks.generate_prefix_lm_mask(77))
    yield mask("batchify, causal", masks.batchify_mask_mod(causal, 48))
    yield mask("batchify, all", masks.batchify_mask_mod(pytorch.noop_mask, 48))
    offsets = torch.tensor([0, 30, 31, 100, 180, 256], dtype=torch.int32)
    yield mask("document, causal", masks.generate_doc_mask_mod(causal, offsets))
    yield mask("document, all", masks.generate_doc_mask_mod(pytorch.noop_mask, offsets))
    yield mask("document, packed causal", masks.generate_packed_causal_doc_mask_mod(offsets))
    yield mask("shared_prefix", masks.generate_shared_prefix_mask_mod(offsets, torch.tensor([0, 0, 0, 3, 3])))
    yield mask("global_sliding_window", masks.generate_global_sliding_window(20, torch.arange(n) % 50 == 0))
    yield mask("block_diffusion", masks.generate_block_diffusion_mask(128, 16))
    intervals = torch.tensor([[0, 70], [10, 70], [70, 256]], dtype=torch.int32)
    yield mask("flamingo", masks.generate_vision_cross_attention_mask_mod(intervals, 32), n, 96)
    yield mask("natten", masks.generate_natten(16, 16, 5, 7))
    yield mask("natten, tiled", masks.generate_tiled_natten(16, 16, 5, 7, 4, 4))
    yield mask("natten, Morton", masks.generate_morton_natten(16, 16, 5, 5))
    yield mask("sta, 2-D", masks.generate_sta_mask_mod_2d((16, 16), (8, 8), (4, 4)))
    yield mask("sta, 2-D and text", masks.generate_sta_mask_mod_2d((16, 14), (8, 6), (4, 2), 32))
    yield mask("sta, 3-D", masks.generate_sta_mask_mod_3d((4, 8, 8), (2, 4, 4), (2, 2, 2), 0))
    yield mask("svg, spatial", masks.generate_spatial_head_mask_mod(16, 10, 24, 2, False, 8))
    yield mask("svg, spatial and sink", masks.generate_spatial_head_mask_mod(16, 10, 24, 2, True, 8))
    yield mask("svg, temporal", masks.generate_temporal_head_mask_mod(16, 10, 24, 2))
    tree = masks.build_tree_ancestor_matrix([-1, 0, 0, 1, 1, 2, 2, 3], "cpu")
    yield mask("jetspec, tree", masks.generate_jetspec_tree_causal_mask_mod(100, tree), 8, 108)
    yield mask("jetspec, training", masks.generate_jetspec_training_mask_mod(100, 8), 64, 164)
    topk, sizes = torch.rand(2, heads, 16, 16).topk(4).indices, torch.tensor([16] * 15 + [9])
    yield mask("vsa, top-k", masks.generate_vsa_mask_mod(topk, 16))
    yield mask("vsa, top-k and padding", masks.generate_vsa_mask_mod(topk, 16, sizes))
    blocks = torch.rand(2, heads, 16, 16) < 0.4
    yield mask("vsa, block map", masks.vsa.generate_vsa_block_map_mask_mod(blocks, 16, sizes))
    yield mask("vsa, padding", masks.vsa.generate_vsa_padding_mask_mod(sizes, 16))
    yield score("alibi", mods.generate_alibi_bias(heads))
    yield score("tanh_softcap", mods.generate_tanh_softcap(30))
    facet.trace_as(torch.ops.approx.tanh, torch.tanh)  # its operator of one PTX instruction
    yield score("tanh_softcap, approx", mods.generate_tanh_softcap(30, approx=True))
    yield score("sandwich", mods.generate_sandwich_bias(heads, n))
    for activation in (F.gelu, F.relu, F.silu, torch.sigmoid):
        yield score(f"activation, {activation.__name__}", mods.generate_activation_score_mod(activation))
    rope = torch.randn(2, heads, n, 64), torch.randn(2, 1, n, 64)
    yield score("mla rope", mods.generate_mla_rope_score_mod(*rope, heads, 0.1))
    adjacency = (torch.rand(2, n, n) < 0.02)
    adjacency = adjacency | adjacency.mT
    distances = mods.shortest_path_distances(adjacency, 6)
    yield score("graphormer, spatial", mods.generate_graphormer_spatial_bias(torch.randn(heads, 8), distances))
    paths = mods.shortest_path_edge_types(adjacency, torch.randint(0, 5, (2, n, n)), 3)
    yield score("graphormer, edges", mods.generate_graphormer_edge_bias(torch.randn(heads, 3, 5), *paths))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("checkout")
    options.add_argument("--json")
    options = options.parse_args()
    warnings.simplefilter("ignore")
    pytorch._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True  # the eager code itself
    results = [compare(*case) for case in cases(*load(options.checkout))]
    for result in results:
        difference, tiles = result["difference"], result.get("tiles")
        said = difference if isinstance(difference, str) else f"{difference:.1e}"
        print(f"{result['name']:<26} {result['verdict']:<8} {said:<9}"
              f"{'' if tiles is None else f'{tiles:7.1%} of the tiles, ' + ('exact' if result['exact'] else 'not exact')}")
    agree = sum(result["verdict"] == "agrees" for result in results)
    exact = sum(result.get("exact", False) for result in results)
    print(f"{agree} of {len(results)} agree; the tiles of {exact} are exact")
    if options.json:
        json.dump(results, open(options.json, "w", encoding="utf-8"), indent=1)
    return agree != len(results)


def compare(name, score_mod, mask_mod, heads, q_len, kv_len, head_dim):
    q, k, v = torch.randn(2, heads, q_len, head_dim), torch.randn(2, heads, kv_len, head_dim), torch.randn(2, heads, kv_len, head_dim)
    expected = pytorch.flex_attention(q, k, v, score_mod, pytorch.create_block_mask(mask_mod, 2, heads, q_len, kv_len, "cpu"))
    try:
        found = facet.flex_attention(q, k, v, score_mod, facet.create_block_mask(mask_mod, 2, heads, q_len, kv_len, "cpu"))
    except Exception as error:
        return {"name": name, "verdict": "refused", "difference": f"{type(error).__name__}: {error}"}
    difference = ((found - expected).abs().max() / expected.abs().max()).item()
    spec, captured = facet.flex_spec(q, k, v, score_mod, facet.create_block_mask(mask_mod, 2, heads, q_len, kv_len, "cpu"))
    captured = {key: value.contiguous() if isinstance(value, torch.Tensor) else value for key, value in captured.items()}
    tiles = spec.explain(q_len=q_len, kv_len=kv_len, batch=2, heads=heads, **captured).tiles
    return {"name": name, "verdict": "agrees" if difference <= BOUND else "differs", "difference": difference,
            "tiles": tiles.share_of_work, "exact": tiles.exact, "spec": spec.text}


if __name__ == "__main__":
    sys.exit(main())
