"""Understanding: a table of utterances with their readings, and properties of any text."""

import json
import time
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ftc.spec.schema import fields
from ftc.spec.values.admission import admits
from ftc.spec.violations import find_violations
from ftc.tui.languages.voice import LANGUAGES
from ftc.tui.questions.answers import understand
from ftc.tui.state.draft import Draft, completed
from ftc.tui.understanding.fields.spoken import spoken_names, vague_names
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Reading
from ftc.tui.understanding.text.lexicon import WORDS
from ftc.tui.understanding.text.message import fold
from tests.quiet_seconds import quiet_seconds

TABLE: Final[list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("utterances.json").read_text(encoding="utf-8")
)
LONGEST_SECONDS: Final = 0.05
#: Pieces that the readers look for, so that generated texts reach them.
PIECES: Final = (
    "dropout", "rank", "rang", "alpha", "lora", "no", "sense", "sin", "5", "0", "0,5", "-1",
    "1e9", "99999", "2x", "4090", "a100", "of them", "%", "validation", "test", "q4", "q8",
    "gguf", "also", "epochs", "steps", "lr", "2e-4", "k", "tokens", "column", "answer", "is",
    "call it", "name", "system prompt", '"', "'", "\u00ab", "llama", "8b", "qwen3", "base",
    "a/b", "x.csv", "C:\\d\\x.csv", "batch", "gb of ram", "tb of disk", "patience",
    "early stopping", "seed", "what if", "why", "context", "bits", "8", ",", ".", "?",
)  # fmt: skip
talk = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
)


def is_right(entry: dict[str, Any]) -> bool:
    """Return whether an utterance gives exactly the expected changes and request."""
    reading = understand(entry["say"], entry.get("draft", {}), entry.get("asked"))
    sets = {change.pointer: change.value for change in reading.changes}
    wanted = entry.get("request")
    if wanted is None:
        asks = [choice.pointer for choice in reading.choices]
        return reading.request is None and asks == entry.get("asks", []) and sets == entry["sets"]
    if reading.request is None or sets != entry.get("sets", {}):
        return False
    about = wanted.get("about", reading.request.about)
    return (reading.request.kind, reading.request.about) == (wanted["kind"], about)


def test_every_language_has_utterances() -> None:
    """The table has at least 70 of each."""
    for language in LANGUAGES:
        assert sum(entry["lang"] == language for entry in TABLE) >= 70


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: f"{entry['lang']}: {entry['say']}")
def test_an_utterance(entry: dict[str, Any]) -> None:
    """Each utterance of the table has the expected reading."""
    assert is_right(entry)


def test_every_field_has_a_name_or_a_reader_of_its_own() -> None:
    """A field without a name in `names.json` is read by another reader, listed here."""
    named = {*spoken_names(), *vague_names(), *WORDS["quantities"]}
    named |= {f"/data/columns/{role}" for role in WORDS["columns"]}
    own = {"/name", "/model/id", "/data/source", "/data/sources", "/data/system"}
    own |= {"/data/template_options", "/hardware/gpu", "/hardware/count", "/hardware/nodes"}
    own |= {"/hardware/price_per_hour", "/export/types", "/method/type", "/objective/type"}
    own |= {"/data/splits/test", "/data/splits/validation", "/data/columns/input", "/$schema"}
    own |= {"/ftc", "/export/vllm"}
    own |= {"/training/evaluation/regression"}  # a list of files with a kind each
    whole = {field.pointer.rpartition("/")[0] for field in fields()}
    leaves = {field.pointer for field in fields()} - whole
    assert sorted(leaves - named - own) == []


@pytest.mark.parametrize(
    ("said", "pointer", "value"),
    [
        ("pooling mean", "/objective/pooling", "mean"),
        ("agrupació per mitjana", "/objective/pooling", "mean"),
        ("undesirable weight 2", "/objective/undesirable_weight", 2),
        ("escala de similitud 30", "/objective/similarity_scale", 30),
        ("drop what does not fit", "/data/cleaning/overlong", "drop"),
        ("el profe en 4 bits", "/objective/teacher/quantization", "nf4"),
        ("the best checkpoint by the metric", "/training/evaluation/best_by", "metric"),
        ('query prompt "search: "', "/objective/query_prompt", "search: "),
        ("0.9 as the temperature", "/objective/temperature", 0.9),
    ],
)
def test_a_named_field_is_read_by_its_type(said: str, pointer: str, value: object) -> None:
    """A number, a word of the field, a quoted text; the value may stand on either side."""
    reading = read(said, {})
    assert {each.pointer: each.value for each in reading.changes} == {pointer: value}


def violations(reading: Reading) -> list[str]:
    """Return the schema's errors on a draft with all changes of a reading."""
    spec = completed(Draft().changed(reading.changes))
    return [finding.message for finding in find_violations(spec)]


@given(talk)
@example("dropout 5, rank 0")
@example("5000 4090s")
@example("1e310")
@example("call it - and context 3 tokens")
@settings(max_examples=150)
def test_any_text_leaves_a_valid_spec(text: str) -> None:
    """No text raises; changes that the schema rejects are kept apart."""
    reading = read(text, {})
    assert violations(reading) == []
    assert not any(admits(change.pointer, change.value) for change in reading.refused)


@given(st.text(max_size=200))
@settings(max_examples=100)
def test_folding_keeps_the_length(text: str) -> None:
    """Positions in the folded text are positions in the original."""
    assert len(fold(text)) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 4000, "1 " * 2000, "no " * 1300, "q4 " * 1300, "a/" * 2000, "'" * 4000, "4090 " * 800,
        "llama 8b " * 440, "the column answer is " * 190, "5 % of " * 570, "\u0130" * 4000,
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_a_long_text_is_read_in_time(text: str) -> None:
    """One of five readings of four thousand characters; a sentence takes a fraction."""
    read(text, {})
    for _ in range(5):
        begin = time.process_time()
        read(text, {})
        if quiet_seconds(begin) < 4 * LONGEST_SECONDS:
            return
    pytest.fail(f"no reading took under {4 * LONGEST_SECONDS} s")


def test_an_utterance_is_read_in_time() -> None:
    """The median of the table is well under what a key press may take."""
    seconds = []
    for entry in TABLE:
        begin = time.process_time()
        read(entry["say"], {})
        seconds.append(time.process_time() - begin)
    assert sorted(seconds)[len(seconds) // 2] < LONGEST_SECONDS


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("dropout 5", "/method/dropout"),
        ("rank 0", "/method/rank"),
        ("70% test", "/data/splits/test"),
    ],
)
def test_what_the_schema_refuses_is_not_applied(text: str, pointer: str) -> None:
    """It is kept apart, so that the chat can say what the field accepts."""
    reading = read(text, {})
    assert reading.changes == ()
    assert [change.pointer for change in reading.refused] == [pointer]
