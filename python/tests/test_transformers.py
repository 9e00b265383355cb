"""Models of transformers with attn_implementation="facet": the logits of "sdpa", for each mask that they make."""

import copy

import pytest
import torch
import transformers

import facet
import facet.transformers

facet.transformers.register()
SIZE = dict(vocab_size=99, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
            max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=2)
MODELS = {
    "causal (llama)": lambda: transformers.LlamaConfig(**SIZE),
    "sliding window (mistral)": lambda: transformers.MistralConfig(**SIZE, sliding_window=16),
    "sliding and full layers, softcap (gemma2)": lambda: transformers.Gemma2Config(**SIZE, sliding_window=16),
    "sinks (gpt-oss)": lambda: transformers.GptOssConfig(**SIZE, sliding_window=16, num_local_experts=2, num_experts_per_tok=1),
    "grouped heads (qwen3)": lambda: transformers.Qwen3Config(**SIZE),
}


def both(config, reference="sdpa"):
    models = []
    for implementation in (reference, "facet"):
        torch.manual_seed(0)
        own = copy.deepcopy(config)  # a model keeps its implementation in it
        models.append(transformers.AutoModelForCausalLM.from_config(own, attn_implementation=implementation).eval())
    return models


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("with_padding", [False, True])
def test_logits(monkeypatch, name, with_padding):
    calls = []
    original = facet.transformers.flex_attention
    monkeypatch.setattr(facet.transformers, "flex_attention", lambda *a, **k: calls.append(a) or original(*a, **k))
    # gpt-oss has no sdpa, and gemma2's softcap is its eager code's alone.
    reference, model = both(MODELS[name](), "eager" if "softcap" in name or "sinks" in name else "sdpa")
    tokens = torch.randint(3, 99, (2, 50))
    attention_mask = torch.ones_like(tokens)
    if with_padding:
        attention_mask[0, :13] = 0  # on the left, as for generation
    with torch.no_grad():
        expected = reference(tokens, attention_mask=attention_mask).logits
        found = model(tokens, attention_mask=attention_mask).logits
    assert len(calls) == SIZE["num_hidden_layers"]
    kept = attention_mask.bool()
    torch.testing.assert_close(found[kept], expected[kept], atol=2e-4, rtol=2e-4)


def test_packed_documents():
    reference, model = both(MODELS["causal (llama)"]())
    tokens = torch.randint(3, 99, (1, 50))
    positions = torch.cat([torch.arange(20), torch.arange(30)])[None]
    with torch.no_grad():
        found = model(tokens, position_ids=positions, use_cache=False).logits
        alone = [reference(part, use_cache=False).logits for part in (tokens[:, :20], tokens[:, 20:])]
    torch.testing.assert_close(found, torch.cat(alone, 1), atol=2e-4, rtol=2e-4)


def test_generation_with_a_cache():
    reference, model = both(MODELS["sliding window (mistral)"]())
    tokens = torch.randint(3, 99, (2, 30))
    settings = dict(max_new_tokens=12, do_sample=False, attention_mask=torch.ones_like(tokens))
    assert torch.equal(model.generate(tokens, **settings), reference.generate(tokens, **settings))


def test_gradients():
    reference, model = both(MODELS["causal (llama)"]())
    tokens = torch.randint(3, 99, (2, 40))
    for each in (reference, model):
        each(tokens, labels=tokens).loss.backward()
    for (name, expected), found in zip(reference.named_parameters(), model.parameters()):
        torch.testing.assert_close(found.grad, expected.grad, atol=1e-5, rtol=1e-3, msg=lambda text, name=name: f"{name}: {text}")


def test_dropout_is_refused():
    config = MODELS["causal (llama)"]()
    config.attention_dropout = 0.1
    model = both(config)[1].train()
    with pytest.raises(facet.ArgumentError, match="set attention_dropout to 0"):
        model(torch.randint(3, 99, (1, 8)))
