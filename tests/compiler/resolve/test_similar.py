"""Ids of models: what is a misspelling, and what is another version or size."""

import pytest

from ftc.compiler.knowledge.well_known.model_names import is_closed
from ftc.compiler.resolve.model.similar import (
    Original,
    find_converted,
    find_family,
    find_meant,
    find_misspelt,
    find_original,
)


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


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("qwen 2.5 7b", ("Qwen/Qwen2.5-7B-Instruct",)),
        ("Llama 3.1 8B Instruct", ("meta-llama/Llama-3.1-8B-Instruct",)),
        ("llama-3.1-8b", ("meta-llama/Llama-3.1-8B",)),
        ("gemma2 9b base", ("google/gemma-2-9b",)),
        ("llama3:8b", ("meta-llama/Meta-Llama-3-8B-Instruct",)),
        ("Qwen/qwen 2.5 7b instruct", ("Qwen/Qwen2.5-7B-Instruct",)),
        ("someone/qwen 2.5 7b", ()),
        ("qwen 9.9 7b", ()),
        ("support-bot", ()),
        ("7b instruct", ()),
    ],
)
def test_a_name_as_people_say_it_is_understood(name: str, meant: tuple[str, ...]) -> None:
    """Words and numbers in any spelling; another version, owner or word fits nothing."""
    assert find_meant(name) == meant


def test_a_name_without_a_size_means_every_size() -> None:
    """They are all offered, the smallest first."""
    meant = find_meant("llama3")
    assert meant == ("meta-llama/Meta-Llama-3-8B-Instruct", "meta-llama/Meta-Llama-3-70B-Instruct")


@pytest.mark.parametrize(
    ("name", "came_from"),
    [
        ("mistral-7b.gguf", ("mistralai/Mistral-7B-Instruct-v0.3",)),
        ("./down/qwen2.5-7b-instruct-q4_k_m.gguf", ("Qwen/Qwen2.5-7B-Instruct",)),
        ("TheBloke/Llama-2-7B-GGUF", ("meta-llama/Llama-2-7b-chat-hf",)),
        ("model.Q4_K_M.gguf", ()),
        ("unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL", ("Qwen/Qwen3-8B",)),
        ("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", ("meta-llama/Llama-3.1-8B-Instruct",)),
        ("bartowski/google_gemma-3-4b-it-GGUF:IQ3_XXS", ("google/gemma-3-4b-it",)),
    ],
)
def test_a_gguf_names_what_it_came_from(name: str, came_from: tuple[str, ...]) -> None:
    """By the name alone, without the endings of quantized files."""
    assert find_converted(name) == came_from


@pytest.mark.parametrize(
    "name",
    ["gpt-4o", "openai/gpt-4o-mini", "GPT-4.1", "claude-3-opus", "claude-3-5-sonnet-20241022",
     "gemini-pro", "google/gemini-1.5-flash-latest", "o3-mini", "chatgpt", "gpt-3.5-turbo-0125"],
)  # fmt: skip
def test_a_closed_model_is_told(name: str) -> None:
    """With an owner, a date or an edition, or without."""
    assert is_closed(name)


@pytest.mark.parametrize(
    "name",
    ["gpt2", "openai/gpt-oss-20b", "EleutherAI/gpt-j-6b", "my-gpt-4", "google/gemma-2-9b", "o",
     "someone/claude-like-7b", "gpt-neo-1.3b"],
)  # fmt: skip
def test_an_open_model_is_not_called_closed(name: str) -> None:
    """Only a whole name counts."""
    assert not is_closed(name)
