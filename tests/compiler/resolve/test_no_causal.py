"""Configs, as published, of models that ftc does not train, and the finding for each."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.spec.findings.finding import Finding
from tests.compiler.resolve.resolving import known_model

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 1000,
    "max_position_embeddings": 512,
}
REMOTE = {"auto_map": {"AutoConfig": "c.C", "AutoModelForCausalLM": "m.NovelForCausalLM"}}
#: Keys of a config.json, the code of its finding, and words of its message and help.
CASES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a type of another code base": (
        {"architectures": ["LlavaQwenForCausalLM"], "model_type": "llava_qwen2", **SIZES},
        "FTC111",
        "of the type `llava_qwen2`, which the pinned transformers does not have",
        "`...-hf`",
    ),
    "a type without a causal class": (
        {"architectures": ["LlavaLlamaForCausalLM"], "model_type": "llava", **SIZES},
        "FTC111",
        "of the type `llava`, for which the pinned transformers has no causal model",
        "`...-hf`",
    ),
    "code of the repository": (
        {"architectures": ["Phi4MMForCausalLM"], "model_type": "phi4mm", **SIZES, **REMOTE},
        "FTC111",
        "its repository's own code",
        "safetensors",
    ),
    "a class outside the table": (
        {"architectures": ["GitForCausalLM"], "model_type": "git", **SIZES},
        "FTC111",
        "no formula",
        "safetensors",
    ),
    "a language model that only a multimodal class has": (
        {"architectures": ["Mistral4ForCausalLM"], "model_type": "mistral4"},
        "FTC103",
        "only as a part of a multimodal model",
        "name a text model",
    ),
    "a causal model saved without its head": (
        {"architectures": ["MistralModel"], "model_type": "mistral", **SIZES},
        "FTC103",
        "without the output head that predicts tokens",
        "with the objective `embed`",
    ),
    "speech with a language model": (
        {
            "architectures": ["VoxtralForConditionalGeneration"],
            "model_type": "voxtral",
            "text_config": {"model_type": "llama", **SIZES},
            "audio_config": {"model_type": "voxtral_encoder"},
        },
        "FTC103",
        "the `LlamaForCausalLM` inside this class",
        "name a text model",
    ),
    "several models in one": (
        {
            "architectures": ["Qwen3OmniMoeForConditionalGeneration"],
            "model_type": "qwen3_omni_moe",
            "talker_config": {},
            "thinker_config": {
                "model_type": "qwen3_omni_moe_thinker",
                "text_config": {"model_type": "qwen3_omni_moe_text", **SIZES},
            },
        },
        "FTC103",
        "its part `thinker` is a `Qwen3OmniMoeThinkerForConditionalGeneration`",
        "`model.thinker.save_pretrained(folder)`",
    ),
    "a wrapper of a newer transformers": (
        {
            "architectures": ["NovelVLForConditionalGeneration"],
            "model_type": "novel_vl",
            "text_config": SIZES,
        },
        "FTC103",
        "of the type `novel_vl`, which the pinned transformers does not have",
        "a newer ftc",
    ),
    "a diffusion language model": (
        {
            "architectures": ["DreamModel"],
            "model_type": "Dream",
            "auto_map": {"AutoModel": "modeling_dream.DreamModel"},
            **SIZES,
        },
        "FTC103",
        "fills in tokens anywhere",
        "a model that generates text",
    ),
    "a diffusion model whose code is causal by name": (
        {
            "architectures": ["LLaDAModelLM"],
            "model_type": "llada",
            "auto_map": {"AutoModelForCausalLM": "modeling_llada.LLaDAModelLM"},
            **SIZES,
        },
        "FTC103",
        "is not trained to predict the next one",
        "a model that generates text",
    ),
    "a model that drafts for another": (
        {
            "architectures": ["Gemma4AssistantForCausalLM"],
            "model_type": "gemma4_assistant",
            "text_config": {"model_type": "gemma4_text", **SIZES},
        },
        "FTC103",
        "hidden states of another model",
        "name the model that it drafts for",
    ),
    "a model that reads the tokens ahead": (
        {"architectures": ["XLNetLMHeadModel"], "model_type": "xlnet", "vocab_size": 32000},
        "FTC103",
        "from those after it too",
        "ForCausalLM",
    ),
    "an encoder and a decoder": (
        {"architectures": ["T5GemmaForConditionalGeneration"], "model_type": "t5gemma"},
        "FTC103",
        "not a causal language model",
        "ForCausalLM",
    ),
    "a part of diffusers": (
        {"_class_name": "FluxTransformer2DModel"},
        "FTC102",
        "of diffusers",
        "name a language model",
    ),
    "an encoder and decoder whose code is causal by name": (
        {
            "architectures": ["Florence2ForConditionalGeneration"],
            "model_type": "florence2",
            "auto_map": {"AutoModelForCausalLM": "m.Florence2ForConditionalGeneration"},
            "is_encoder_decoder": True,
            "text_config": {"model_type": "florence2_language", "vocab_size": 51289},
            "vision_config": {},
            "vocab_size": 51289,
        },
        "FTC103",
        "is not a causal language model",
        "name a model that generates text",
    ),
    "code that sees": (
        {
            "architectures": ["InternVLChatModel"],
            "model_type": "internvl_chat",
            "auto_map": {"AutoModelForCausalLM": "modeling_internvl_chat.InternVLChatModel"},
            "llm_config": {"model_type": "internlm2", "vocab_size": 92553},
            "vision_config": {"hidden_size": 1024},
        },
        "FTC103",
        "own code that reads images or sound",
        "often called `...-hf`",
    ),
    "a class with other weights than that of the type": (
        {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen2", **SIZES},
        "FTC102",
        "loads a `Qwen2ForCausalLM`, whose layers have other weights",
        "the model's original `config.json`",
    ),
    "no type beside a class": (
        {"architectures": ["LlamaForCausalLM"], **SIZES},
        "FTC102",
        "has no `model_type`",
        'such as `"llama"`',
    ),
    "the format of another library": (
        {"d_model": 64, "n_layer": 2, "ssm_cfg": {}},
        "FTC102",
        "has no `architectures`",
        "in the format of transformers",
    ),
}


def resolve(make_spec: Any, folder: Path, config: dict[str, Any]) -> Finding:
    """Return the finding for a folder without weights."""
    for path in folder.glob("*.safetensors"):
        path.unlink()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    found = resolve_model(make_spec(), folder=folder.parent)
    assert isinstance(found, Unknown)
    return found.finding


@pytest.mark.parametrize("case", CASES)
def test_each_is_told_what_it_is(make_spec: Any, model_folder: Path, case: str) -> None:
    """In one sentence, with a next step that fits."""
    config, code, said, advice = CASES[case]
    finding = resolve(make_spec, model_folder, config)

    assert finding.code == code
    assert said in finding.message
    assert advice in finding.help


def test_weights_of_mlx_are_quantized(make_spec: Any, model_folder: Path) -> None:
    """Its config says the bits alone, under a key of its own."""
    config = json.loads((model_folder / "config.json").read_bytes())
    for said in ({"quantization": {"group_size": 64, "bits": 4}}, {"quantization": None}):
        (model_folder / "config.json").write_text(json.dumps(config | said), encoding="utf-8")
        facts = known_model(make_spec(), model_folder.parent)
        assert facts.quantized == ("mlx" if said["quantization"] else None)
