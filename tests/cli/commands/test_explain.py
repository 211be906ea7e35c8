"""`ftc explain` and `ftc schema`."""

import json
import re
from collections.abc import Callable
from typing import Any

import click
import jsonschema
import pytest

from ftc.compiler.knowledge.glossary import all_entries, find_entry
from ftc.explanations import EXPLANATIONS
from ftc.spec.findings.explanation import Explanation
from ftc.spec.schema import fields, find_field
from ftc.spec.values.expectation import words_of

Call = Callable[..., Any]

KNOWN = re.compile(r"FTC[0-69]\d\d")  # no floor has 700 or 800


def test_codes_are_unique_and_in_range() -> None:
    """No two pages share a code or a name, whichever floor they come from."""
    assert len({page.code for page in EXPLANATIONS}) == len(EXPLANATIONS)
    assert len({page.name for page in EXPLANATIONS}) == len(EXPLANATIONS)
    assert all(KNOWN.fullmatch(page.code) for page in EXPLANATIONS)


@pytest.mark.parametrize("page", EXPLANATIONS, ids=lambda page: page.code)
def test_every_page_has_its_parts(call: Call, page: Explanation) -> None:
    """What, why, an example, and what to use instead; by code and by name, in any case."""
    result = call("explain", page.code.lower())
    assert result.code == 0
    assert result.out == call("explain", page.name).out
    for part in ("What it is", "Why it matters", "Example", "Use instead"):
        assert part in result.out


@pytest.mark.parametrize("name", [field.name for field in fields()])
def test_every_field_has_a_page(call: Call, name: str) -> None:
    """By its dotted name and by its pointer, with its presence and an example."""
    result = call("explain", name)
    assert result.code == 0
    assert result.out == call("explain", "/" + name.replace(".", "/")).out
    assert re.search(r"^presence: (required|default )", result.out, re.MULTILINE)


def test_did_you_mean(call: Call) -> None:
    """A near miss is named; exit code 2."""
    result = call("explain", "model.revison")
    assert result.code == 2
    assert "Did you mean `model.revision`?" in result.err


def test_the_list(call: Call) -> None:
    """Every code and every field, as text and as JSON."""
    terms = [entry.term for entry in all_entries()]
    names = [page.code for page in EXPLANATIONS] + [field.name for field in fields()] + terms
    lines = call("explain", "--list").out.splitlines()
    assert len(lines) == len(names)
    assert all(line.startswith(f"{name} ") for line, name in zip(lines, names, strict=True))
    entries = json.loads(call("explain", "--list", "--format", "json").out)["entries"]
    assert [entry[entry["kind"]] for entry in entries] == names


@pytest.mark.parametrize("words", ["ZeRO-3", "zero 3", "low-rank adaptation"])
def test_a_term_of_the_field(call: Call, words: str) -> None:
    """A word of the glossary, by any of its names, in English."""
    result = call("explain", words)
    entry = find_entry(words)
    assert entry is not None
    assert (result.code, entry.text["en"] in result.out) == (0, True)


def test_a_terminal_gets_pages(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a terminal the text goes to the pager, whole; elsewhere it is printed."""
    shown: list[str] = []
    plain = call("explain", "FTC300").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr(click, "echo_via_pager", shown.append)

    assert call("explain", "FTC300").code == 0
    assert shown == [plain]


def test_the_schema_is_one(call: Call) -> None:
    """What `ftc schema` prints is a schema of its draft, and refuses an unknown key."""
    schema = json.loads(call("schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "a", "model": "m", "data": "d", "extra": 1}, schema)


@pytest.mark.parametrize(
    ("topic", "field"),
    [("packing", "data.packing"), ("warmup", "training.warmup"), ("beta", "objective.beta")],
)
def test_a_field_is_found_by_its_last_name(call: Call, topic: str, field: str) -> None:
    """Where only one field has that name."""
    result = call("explain", topic)
    assert result.code == 0, result.err
    assert result.out.startswith(f"{field} ")


def test_fields_that_share_their_last_name_are_listed(call: Call) -> None:
    """None of them is chosen."""
    result = call("explain", "label_smoothing")
    assert result.code == 2
    assert "`objective.label_smoothing`, `training.label_smoothing`" in " ".join(result.err.split())


def test_the_name_that_another_tool_has(call: Call) -> None:
    """It leads to the field; a code that does not exist leads to no other code."""
    assert call("explain", "num_train_epochs").out.startswith("training.epochs ")
    assert call("explain", "training.lr").out.startswith("training.learning_rate ")
    assert "Did you mean" not in call("explain", "FTC9999").err


@pytest.mark.parametrize("topic", ["FTC32", "ftc32", "32", "032"])
def test_a_code_without_its_zeros(call: Call, topic: str) -> None:
    """A number is that of a code."""
    assert call("explain", topic).out.startswith("FTC032 ")


@pytest.mark.parametrize("pointer", ["objective", "method", "launch", "distribution"])
def test_every_choice_of_a_section_leads_to_a_page(call: Call, pointer: str) -> None:
    """Each objective, method, launcher and strategy, in any case."""
    kind = "strategy" if pointer == "distribution" else "type"
    words = words_of(find_field(f"/{pointer}/{kind}").schema)
    assert words
    for word in words:
        for typed in (word, word.upper()):
            result = call("explain", typed)
            assert result.code == 0, typed
            assert word.replace("zero", "zero-").casefold() in result.out.casefold() or (
                find_entry(word) is not None
            )


def test_a_list_of_objects_names_its_keys(call: Call) -> None:
    """The keys are part of the field's page, as text and as JSON."""
    assert "functions, names, weight" in call("explain", "objective.rewards").out
    data = json.loads(call("explain", "objective.rewards", "--format", "json").out)
    assert "functions" in data["entries"][0]["keys"]


def test_a_page_has_no_marks_of_markdown(call: Call) -> None:
    """Titles have no asterisks, and examples are indented instead of fenced."""
    said = call("explain", "FTC524").out
    assert "What it is. " in said
    assert "\n    {" in said
    assert "**" not in said
    assert "```" not in said


def test_what_is_like_nothing_has_no_suggestion(call: Call) -> None:
    """`foo` has two letters in common with RLOO, and does not mean it."""
    assert "Did you mean" not in call("explain", "foo").err
    assert "objective.beta" in call("explain", "lambda").out
