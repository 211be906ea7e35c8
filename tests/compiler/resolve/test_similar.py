"""Ids of models: what is a misspelling, and what is another version or size."""

import pytest

from ftc.compiler.resolve.model.similar import find_family, find_misspelt


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Qwen/Qwen2.5-7B-Instuct", "Qwen/Qwen2.5-7B-Instruct"),
        ("meta-lama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("mistralai/Mistral-7B-v0.3-Instruct", "mistralai/Mistral-7B-Instruct-v0.3"),
        ("Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
    ],
)
def test_a_misspelt_word_is_named(name: str, meant: str) -> None:
    """A letter, a repeated or missing owner, or another order of the words."""
    assert find_misspelt(name) == meant


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Qwen/Qwen3.5-4B", "Qwen"),
        ("meta-llama/Llama-3.3-8B-Instruct", "Llama"),
        ("google/gemma-4-9b-it", "gemma"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen"),
        ("mistralai/Mistral-7B-Instruct-v0.4", "Mistral"),
        ("unsloth/Qwen2.5-7B-Instruct", None),
    ],
)
def test_versions_sizes_and_kinds_are_no_misspellings(name: str, family: str | None) -> None:
    """Nothing is offered in their place; the family is named where the table has others."""
    assert find_misspelt(name) is None
    assert find_family(name) == family
