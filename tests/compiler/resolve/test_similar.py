"""Ids of models: what is a misspelling, and what is another version or size."""

import pytest

from ftc.compiler.resolve.model.similar import Original, find_family, find_misspelt, find_original


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


@pytest.mark.parametrize(
    ("name", "original", "quantized"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen/Qwen2.5-7B-Instruct", True),
        ("bartowski/Qwen2.5-7B-Instruct-GGUF", "Qwen/Qwen2.5-7B-Instruct", True),
        (
            "unsloth/Llama-3.2-3B-Instruct-unsloth-bnb-4bit",
            "meta-llama/Llama-3.2-3B-Instruct",
            True,
        ),
        ("RedHatAI/Qwen3-8B-quantized.w4a16", None, False),
        ("someone/Qwen3-8B-FP8-dynamic", "Qwen/Qwen3-8B", True),
        ("mlx-community/Qwen2.5-7B-Instruct-4bit", "Qwen/Qwen2.5-7B-Instruct", True),
        ("unsloth/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct", False),
        ("Qwen/Qwen2.5-7B-Instruct", None, False),
        ("someone/My-7B-Instruct", None, False),
    ],
)
def test_a_copy_names_its_original(name: str, original: str | None, quantized: bool) -> None:
    """A copy has the name of a model of the table, apart from how it is quantized."""
    expected = None if original is None else Original(id=original, quantized=quantized)
    assert find_original(name) == expected
