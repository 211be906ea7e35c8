"""The model families: published configs, tokenizers by name, and the report."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.rehearsals import (
    Family,
    Rehearsed,
    as_foretold,
    read_families,
    rehearse,
    report,
    write_family,
)
from benchmarks.vocabularies import STAND_INS, describe_tokenizer
from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.well_known.models import find_model
from tests.real_tokenizers import KINDS

FAMILIES = {family.name: family for family in read_families()}
WANTED = {
    *("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"),
    *("Gemma2ForCausalLM", "Gemma3ForCausalLM", "Phi3ForCausalLM", "Olmo2ForCausalLM"),
    *("GPT2LMHeadModel", "SmolLM3ForCausalLM", "GraniteForCausalLM", "MixtralForCausalLM"),
    *("Qwen3MoeForCausalLM", "Starcoder2ForCausalLM"),
}


def stage(name: str, status: str = "ok") -> Mapping[str, object]:
    """Return a stage as `ftc rehearse --format json` prints it."""
    return {"name": name, "status": status, "seconds": 2.04, "result": "F16: KL 1e-07"}


def outcome(family: Family, failure: Mapping[str, object] | None) -> Rehearsed:
    """Return the result of a family."""
    data = {"stages": [stage("compile"), stage("compare")], "failure": failure}
    return Rehearsed(family=family, data=data, seconds=61.0, said="")


def test_the_families_that_people_train_are_there() -> None:
    """Each config gives the published parameter count, if one is known."""
    assert {family.config["architectures"][0] for family in FAMILIES.values()} >= WANTED
    for family in FAMILIES.values():
        shape, known = read_shape(family.config), find_model(family.model)
        assert shape is not None, family.name
        if known is not None and known.published_parameters is not None:
            assert shape.parameters == known.published_parameters, family.name


def test_a_stand_in_is_called_one() -> None:
    """A tokenizer that is neither rebuilt nor Mistral's is marked as a stand-in."""
    for family in FAMILIES.values():
        real = family.tokenizer in KINDS or family.tokenizer.startswith("mistral")
        assert (describe_tokenizer(family.tokenizer) == "real") == real
        assert real or family.tokenizer in STAND_INS


def test_the_page_says_how_far_each_goes() -> None:
    """A failed family is listed with its cause, and fails unless the compiler expects it."""
    whole = outcome(FAMILIES["mixtral"], None)
    failure = {"stage": "convert", "cause": "no such key\nmore", "meaning": "m", "log": None}
    page = report([whole, outcome(FAMILIES["falcon"], failure)])
    assert "| mixtral | mistralai/Mixtral-8x7B-v0.1 | lora, 8x H100-SXM5-80GB, zero3 |" in page
    assert "* **falcon** stopped at convert: no such key" in page
    assert "| passed | F16: KL 1e-07 | 61 |" in page
    assert as_foretold(whole)
    stopping = replace(FAMILIES["falcon"], config={"architectures": ["StoppedForCausalLM"]})
    assert as_foretold(outcome(stopping, failure))
    assert not as_foretold(outcome(FAMILIES["mixtral"], failure))
    assert not as_foretold(outcome(stopping, None))


def test_the_page_names_what_is_offloaded() -> None:
    """A distribution of several words is one phrase."""
    page = report([outcome(FAMILIES["llama-2-offload"], None), outcome(FAMILIES["mistral"], None)])
    assert "| lora, 2x A100-80GB, zero2, optimizer offloaded |" in page
    assert "| lora, 1x A100-80GB |" in page


@pytest.mark.prove_all
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_comes_as_far_as_the_compiler_says(name: str, tmp_path: Path, sdist: Path) -> None:
    """Every family, from its published config to a GGUF that answers, or to its known failure."""
    write_family(FAMILIES[name], tmp_path, sdist=sdist)
    found = rehearse(FAMILIES[name], tmp_path, sdist=sdist)
    assert as_foretold(found), found.said[-3000:]
