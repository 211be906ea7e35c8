"""The rows of the data, written by the chat template of training and by Ollama's TEMPLATE."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from ftc.compiler.resolve.chat_template.ollama import recognise
from ftc.compiler.resolve.chat_template.rendering import compile_chat_template
from ftc.compiler.resolve.content.ollama_rows import compare_rows
from ftc.compiler.resolve.content_facts import OllamaRows
from ftc.compiler.resolve.detail_facts import OllamaFacts
from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.compiler.resolve.rows.example import Example
from tests.compiler.resolve.test_ollama import SPECIAL, read_templates

REASONED = "<think>\nIt is late.\n</think>\n\nNo."


@pytest.fixture
def qwen3(sdist: Path) -> LoadedTokenizer:
    """Return a tokenizer with the template of Qwen3, which drops reasoning of earlier answers."""
    source = read_templates(sdist)["Qwen-Qwen3-0.6B.jinja"]
    return LoadedTokenizer(
        tokenizer=Tokenizer(WordLevel({"a": 0}, unk_token="a")),
        special=SPECIAL,
        template=compile_chat_template(source, SPECIAL),
    )


@pytest.fixture
def ollama(sdist: Path, qwen3: LoadedTokenizer) -> OllamaFacts:
    """Return what is recognised of that template."""
    assert qwen3.template is not None
    source = read_templates(sdist)["Qwen-Qwen3-0.6B.jinja"]
    found = recognise(source, qwen3.template, adds_bos=False)
    assert found is not None
    assert found.family is not None
    return found


def example(*turns: str, roles: Sequence[str] = ("user", "assistant")) -> Example:
    """Return an example whose turns have these roles in turn."""
    return Example(turns=tuple((roles[n % len(roles)], text) for n, text in enumerate(turns)))


def test_rows_that_the_template_changes_are_counted(
    qwen3: LoadedTokenizer, ollama: OllamaFacts
) -> None:
    """Reasoning in the last answer is no part of the prompt; in an earlier one it is."""
    plain = example("Is it open?", "No.", "Why?", "It is late.")
    last = example("Is it open?", REASONED)
    earlier = example("Is it open?", REASONED, "Why?", "It is late.")
    rows, numbers = [plain, last, earlier, plain, earlier], [1, 2, 5, 6, 9]

    found = compare_rows(rows, numbers, qwen3, ollama, system=None)
    assert found == OllamaRows(compared=5, other=2, first=5)
    assert compare_rows(rows[:2], numbers[:2], qwen3, ollama, system="Be brief.") == OllamaRows(
        compared=2, other=0
    )


def test_what_a_family_lacks_differs(qwen3: LoadedTokenizer, ollama: OllamaFacts) -> None:
    """Another opening of the answer, and another family, are other texts in every row."""
    rows = [example("Is it open?", "No."), example("Why?", "It is late.")]
    for wrong in (replace(ollama, opening="<think>\n"), replace(ollama, family="zephyr")):
        found = compare_rows(rows, [1, 2], qwen3, wrong, system=None)
        assert found == OllamaRows(compared=2, other=2, first=1)


def test_many_rows_are_sampled(qwen3: LoadedTokenizer, ollama: OllamaFacts) -> None:
    """At most 500, from the whole of the data."""
    rows = [example("Is it open?", "No.")] * 1201 + [example("a", REASONED, "b", "c")] * 300
    found = compare_rows(rows, range(1, 1502), qwen3, ollama, system=None)
    assert found is not None
    assert (found.compared, found.other) == (376, 75)


def test_tools_and_unknown_templates_are_not_compared(
    qwen3: LoadedTokenizer, ollama: OllamaFacts
) -> None:
    """No TEMPLATE of the table writes tools; a template of no family has none."""
    tools = Example(turns=(("tools", "[]"), ("user", "Is it open?"), ("assistant", "No.")))
    text = Example(turns=(("text", "It is open."),))
    found = compare_rows([tools, text], [1, 2], qwen3, ollama, system=None)
    assert found == OllamaRows(compared=0, other=0)
    unknown = OllamaFacts(obstacle="unknown")
    assert compare_rows([tools], [1], qwen3, unknown, system=None) is None
    assert compare_rows([tools], [1], qwen3, None, system=None) is None
