"""The table of models: closed entries, and sizes that agree with what is published."""

import json
import re
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest

from ftc.compiler.knowledge.architectures.architecture import is_convertible
from ftc.compiler.knowledge.objectives import Head
from ftc.compiler.knowledge.text.tokenizers import tokenizer_families
from ftc.compiler.knowledge.well_known.models import (
    KINDS,
    Kind,
    Model,
    all_models,
    find_model,
    shape_for,
)
from ftc.compiler.resolve.model.facts import facts_from_table
from ftc.spec.message import name_language
from ftc.spec.sections import Pooling

ENTRIES: list[dict[str, Any]] = json.loads(
    (files("ftc.compiler.knowledge.well_known") / "models.json").read_text(encoding="utf-8")
)
REQUIRED = {
    "id": str,
    "licence": str,
    "gated": bool,
    "kind": str,
    "languages": list,
    "context_tokens": int,
    "chat_template": str,
    "tokenizer": str,
    "convertible": bool,
    "source": str,
    "config": dict,
}
OPTIONAL = {
    "pooling": str,
    "pooling_source": str,
    "vocab_tokens": int,
    "parameters": int,
    "card_parameters": int,
    "whole_parameters": int,
    "vision": dict,
}
TEMPLATES = {
    "none",
    "chatml",
    "llama2",
    "llama3",
    "mistral",
    "gemma",
    "phi3",
    "phi4",
    "phi4-mini",
} | {"zephyr", "granite", "tulu", "deepseek", "falcon3", "cohere", "harmony"}
TEMPLATES |= {"apertus", "gemma4", "glm4", "exaone", "hunyuan"}
TEMPLATES |= {"ernie", "kimi", "llama4", "minimax", "seed", "solar"}
MODELS = all_models()
#: Published sizes that the name does not tell. Those of Gemma 4 and Llama 4 include the tower.
STATED = {
    "ai21labs/Jamba-v0.1": 52e9,
    "baidu/ERNIE-4.5-0.3B-Base-PT": 0.36e9,
    "baidu/ERNIE-4.5-0.3B-PT": 0.36e9,
    "croissantllm/CroissantLLMBase": 1.3e9,
    "croissantllm/CroissantLLMChat-v0.1": 1.3e9,
    "deepseek-ai/DeepSeek-R1": 671e9,
    "deepseek-ai/DeepSeek-V3": 671e9,
    "deepseek-ai/DeepSeek-V3.2": 671e9,
    "deepseek-ai/DeepSeek-V4-Flash": 284e9,
    "deepseek-ai/DeepSeek-V4-Pro": 1.6e12,
    "facebook/xglm-564M": 564e6,
    "google/gemma-4-E2B": 5.1e9,
    "google/gemma-4-E2B-it": 5.1e9,
    "google/gemma-4-E4B": 8e9,
    "google/gemma-4-E4B-it": 8e9,
    "ibm-granite/granite-4.0-h-350m": 340e6,
    "ibm-granite/granite-4.0-h-350m-base": 340e6,
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": 400e9,
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": 109e9,
    "microsoft/Phi-3.5-MoE-instruct": 42e9,
    "MiniMaxAI/MiniMax-M2.5": 230e9,
    "MiniMaxAI/MiniMax-M2.7": 230e9,
    "Qwen/Qwen3-Coder-Next": 80e9,
    "XiaomiMiMo/MiMo-V2-Flash": 309e9,
    "zai-org/GLM-4.5": 355e9,
    "zai-org/GLM-4.5-Air": 106e9,
    "zai-org/GLM-4.5-Air-Base": 106e9,
    "zai-org/GLM-4.6": 355e9,
    "zai-org/GLM-4.7": 355e9,
    "zai-org/GLM-4.7-Flash": 30e9,
    "zai-org/GLM-5": 744e9,
    "zai-org/GLM-5.1": 744e9,
    "zai-org/GLM-5.2": 744e9,
}


def test_entries_are_closed() -> None:
    """No entry lacks a key, has one that nothing reads, or has a value of another type."""
    for entry in ENTRIES:
        kinds = REQUIRED | OPTIONAL
        assert REQUIRED.keys() <= entry.keys() <= kinds.keys(), entry["id"]
        assert all(type(value) is kinds[key] for key, value in entry.items()), entry["id"]
        assert entry["chat_template"] in TEMPLATES
        assert entry["kind"] in get_args(Kind)
        assert ("pooling" in entry) == (entry["kind"] == "embedding"), entry["id"]
        assert ("pooling_source" in entry) == ("pooling" in entry), entry["id"]
        assert entry.get("pooling", "mean") in get_args(Pooling)
        assert all(re.fullmatch("[a-z]{2}", language) for language in entry["languages"])


def test_the_table_is_large_sorted_and_without_doubles() -> None:
    """At least 60 models from 0.1B to 70B, each once."""
    names = [model.id.casefold() for model in MODELS]
    assert names == sorted(set(names))
    assert len(names) >= 490
    assert min(model.shape.parameters for model in MODELS) < 0.15e9
    assert max(model.shape.parameters for model in MODELS) > 65e9


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
def test_parameters(model: Model) -> None:
    """The formula gives the published count, or else about what the model's name says."""
    if model.published_parameters is not None:
        assert model.shape.parameters == model.published_parameters
        return
    if model.card_parameters is not None:  # to three digits
        whole = model.shape.parameters + model.shape.frozen_parameters
        assert whole == pytest.approx(model.card_parameters, rel=0.006)
        return
    named = re.search(r"(\d+(?:\.\d+)?)b", model.id.casefold())
    size = STATED.get(model.id) or (float(named[1]) * 1e9 if named else 0)
    assert 0.85 < model.shape.parameters / size < 1.15


def test_most_counts_are_published() -> None:
    """Of four models, at most one rests on the size in its name, and on its class."""
    counted = [m for m in MODELS if m.published_parameters or m.card_parameters]
    unknown = [model.id for model in MODELS if model not in counted]
    assert 4 * len(unknown) <= len(MODELS)


@pytest.mark.prove_all
def test_counts_of_the_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models built by transformers from the table's configs have the table's parameter counts.

    Only the language model is counted, so that a tower of timm need not be built.
    """
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / ".ci"))
    generator: Any = import_module("wrappers")
    distinct = {json.dumps(model.config, sort_keys=True): model for model in MODELS}
    assert len(distinct) > 150
    for model in distinct.values():
        if model.kind in ("base", "instruct"):
            with generator.without_towers_of_timm():
                assert build_and_count(model) == model.shape.parameters, model.id


def build_and_count(model: Model) -> int:
    """Build an entry without its weights, and count those of its language model."""
    import torch  # noqa: PLC0415 - where it is installed
    import transformers  # noqa: PLC0415

    own = {k: v for k, v in model.config.items() if k not in ("architectures", "model_type")}
    own = own | {"quantization_config": None, "tie_word_embeddings": model.shape.tied}
    settings: Any = transformers.AutoConfig.for_model(str(model.config["model_type"]), **own)
    automatic: Any = transformers.AutoModelForCausalLM
    whole = model.wrapper if model.wrapper is not None and model.wrapper.keeps_tower else None
    if whole is not None:
        automatic = transformers.AutoModelForImageTextToText
    with torch.device("meta"):
        made = automatic.from_config(settings)
    inside = ("",) if whole is None else (f"{whole.prefix}.", "lm_head.")
    return sum(
        tensor.numel() for name, tensor in made.named_parameters() if name.startswith(inside)
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
def test_facts_agree_with_each_other(model: Model) -> None:
    """Context, vocabulary, template, tokenizer and converter do not contradict the config."""
    assert model.context_tokens <= model.shape.context_tokens
    assert 0.95 * model.shape.vocab <= model.vocab_tokens <= model.shape.vocab
    assert model.tokenizer in tokenizer_families()
    assert is_convertible(model.shape.architecture) or not model.convertible
    if model.kind == "instruct":
        assert model.chat_template != "none"


def test_towers_have_what_is_beside_the_language_model() -> None:
    """Their sizes give the published count, and their processors' settings a rule."""
    seeing = [model for model in MODELS if model.vision]
    assert len(seeing) >= 11
    for model in seeing:
        vision = facts_from_table(model, model.id).vision
        assert vision is not None, model.id
        tower = vision.tower
        entry = next(each for each in ENTRIES if each["id"] == model.id)
        beside = entry["whole_parameters"] - model.shape.parameters
        assert tower.parameters + tower.projector_parameters == beside, model.id
        assert vision.rule, model.id
        assert vision.token_id is not None, model.id


@pytest.mark.parametrize("head", get_args(Head))
def test_every_output_has_models(head: Head) -> None:
    """Each model of a kind that is trained for an output has a shape with its head."""
    found = [model for model in MODELS if model.kind in KINDS[head]]
    assert len(found) >= 10
    assert all(shape_for(model, head) for model in found)


def test_the_shape_follows_the_head() -> None:
    """An encoder predicts no tokens; a causal model without its head has fewer parameters."""
    bert, qwen = find_model("BAAI/bge-small-en-v1.5"), find_model("Qwen/Qwen3-Embedding-8B")
    assert bert is not None
    assert qwen is not None
    assert shape_for(bert, "tokens") is None
    with pytest.raises(ValueError, match="no head"):
        facts_from_table(bert, bert.id)
    score, tokens = shape_for(bert, "relevance"), shape_for(qwen, "tokens")
    assert score is not None
    assert tokens is not None
    assert score.parameters == bert.shape.parameters + score.hidden + 1
    assert tokens.parameters == qwen.shape.parameters + 151_665 * 4096


def test_find_model() -> None:
    """Letter case and blanks around an id do not matter; another id does."""
    model = find_model(" qwen/QWEN2.5-7B-instruct ")
    assert model is not None
    assert model.id == "Qwen/Qwen2.5-7B-Instruct"
    assert model.shape.parameters == 7_615_616_512
    assert find_model("Qwen/Qwen2.5-7B-Instruct-GGUF") is None


def test_every_language_has_a_name() -> None:
    """Those that models list, and those that are recognised in data."""
    table = json.loads((files("ftc.compiler.knowledge.text") / "languages.json").read_text("utf-8"))
    codes = {*table["words"], *table["scripts"]}.union(*(m.languages for m in all_models()))
    assert [code for code in sorted(codes) if name_language(code) == code] == []


def test_quantization_may_be_said_of_the_text_alone() -> None:
    """Kimi-K2.5 is published with experts in four bits, which only its `text_config` says."""
    kimi = find_model("moonshotai/Kimi-K2.5")
    assert kimi is not None
    assert kimi.quantized == "compressed-tensors"
