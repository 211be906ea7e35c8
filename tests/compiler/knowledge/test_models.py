"""The table of models: closed entries, and sizes that agree with what is published."""

import json
import re
from importlib.resources import files
from typing import Any, get_args

import pytest

from ftc.compiler.knowledge.architecture import is_convertible
from ftc.compiler.knowledge.models import KINDS, Kind, Model, all_models, find_model, shape_for
from ftc.compiler.knowledge.objectives import Head
from ftc.compiler.knowledge.tokenizers import tokenizer_families
from ftc.compiler.resolve.model.facts import facts_from_table

ENTRIES: list[dict[str, Any]] = json.loads(
    (files("ftc.compiler.knowledge") / "models.json").read_text(encoding="utf-8")
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
OPTIONAL = {"vocab_tokens": int, "parameters": int, "whole_parameters": int, "vision": dict}
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
MODELS = all_models()


def test_entries_are_closed() -> None:
    """No entry lacks a key, has one that nothing reads, or has a value of another type."""
    for entry in ENTRIES:
        kinds = REQUIRED | OPTIONAL
        assert REQUIRED.keys() <= entry.keys() <= kinds.keys(), entry["id"]
        assert all(type(value) is kinds[key] for key, value in entry.items()), entry["id"]
        assert entry["chat_template"] in TEMPLATES
        assert entry["kind"] in get_args(Kind)
        assert all(re.fullmatch("[a-z]{2}", language) for language in entry["languages"])


def test_the_table_is_large_sorted_and_without_doubles() -> None:
    """At least 60 models from 0.1B to 70B, each once."""
    names = [model.id.casefold() for model in MODELS]
    assert names == sorted(set(names))
    assert len(names) >= 240
    assert min(model.shape.parameters for model in MODELS) < 0.15e9
    assert max(model.shape.parameters for model in MODELS) > 65e9


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
def test_parameters(model: Model) -> None:
    """The formula gives the published count, or else about what the model's name says."""
    if model.published_parameters is not None:
        assert model.shape.parameters == model.published_parameters
        return
    named = re.search(r"(\d+(?:\.\d+)?)b", model.id.casefold())
    size = float(named[1]) * 1e9 if named else 1.3e9  # CroissantLLM: the size its authors give
    assert 0.85 < model.shape.parameters / size < 1.15


def test_most_counts_are_published() -> None:
    """Only a few entries rest on plausibility alone."""
    unknown = [model.id for model in MODELS if model.published_parameters is None]
    assert len(unknown) <= 10


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
        beside = entry["whole_parameters"] - entry["parameters"]
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
