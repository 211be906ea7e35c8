"""What learned models add to the patterns: numbers of fields, withheld values, and questions."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ftc.tui.languages.voice import Voice
from ftc.tui.session.session import Session
from ftc.tui.state.draft import read_draft
from ftc.tui.state.situation import Observer
from ftc.tui.understanding import reader
from ftc.tui.understanding.learned.likely import find_likely
from ftc.tui.understanding.learned.linear import NONE, Model, read_model
from ftc.tui.understanding.learned.linked import find_numbers
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.text.message import Message
from tests.tui.understanding.wanted.test_licence import DRAFT

ROOT = Path(__file__).parents[3]


def test_a_model_shares_the_probability_between_options_and_none() -> None:
    """Each feature moves the odds of its options, and each number of a fit those of its option."""
    model = Model(options=("/a", "/b"), features={"x": (0, 200, 1, -100)}, fits={"near": 1.5})
    even = model.weigh([], {"/a": {}, "/b": {}})
    assert even == pytest.approx({NONE: 1 / 3, "/a": 1 / 3, "/b": 1 / 3})
    told = model.weigh(["x", "unknown"], {"/a": {}, "/b": {}})
    assert told["/a"] > even["/a"] > told["/b"]
    assert model.weigh([], {"/b": {"near": 2.0}})["/b"] > 0.9  # e^3 of e^3 + 1
    assert "/a" not in model.weigh(["x"], {"/b": {}})


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("cada lote que junte 48 filas", "/training/global_batch", 48),
    ],
)
def test_a_number_is_linked_to_the_field_that_its_sentence_means(
    monkeypatch: pytest.MonkeyPatch, text: str, pointer: str, value: float
) -> None:
    """The patterns alone do not set it."""
    assert {each.pointer: each.value for each in read(text, DRAFT).changes} == {pointer: value}
    monkeypatch.setattr(reader, "read_linked", lambda *_: ())
    assert read(text, DRAFT).changes == ()


@pytest.mark.parametrize(
    "text",
    [
        "my cousin finished in 4 hours and paid 30 euros",
        "we were founded in 2019 and have 12 employees",
        "la meva àvia té 84 anys i 3 gats",
        "el año pasado vendimos 1200 sillas",
    ],
)
def test_a_number_that_is_only_told_is_linked_to_no_field(text: str) -> None:
    """None is likelier than every field."""
    numbers = find_numbers(Message(text), DRAFT)
    assert numbers
    for number in numbers:
        shares = number.weigh()
        assert max(shares, key=lambda each: shares[each]) == NONE
    assert read(text, DRAFT).changes == ()


def test_a_number_sets_only_a_field_that_takes_it() -> None:
    """A value that the schema rejects is no option, and 7 % are 0.07."""
    (number,) = find_numbers(Message("put aside 7% of rows"), DRAFT)
    assert number.values["/data/splits/validation"] == 0.07
    assert "/training/epochs" in number.values
    assert "/method/rank" not in number.values


def test_a_denied_or_replaced_number_is_not_linked() -> None:
    """Nor is one of a question."""
    for text in ("que no junte 48 filas", "should each batch have 48 rows?"):
        assert read(text, DRAFT).changes == ()


def test_a_message_without_a_field_leads_to_a_question_about_the_likeliest(tmp_path: Path) -> None:
    """It sets nothing, and one field is asked for."""
    shares = read_model("fields")
    assert shares.fits["named"] > 0
    spec = {"model": "Qwen/Qwen2.5-7B-Instruct", "data": "tickets.csv"}
    session = Session(
        observer=Observer(tmp_path), voice=Voice(language="en"), draft=read_draft(spec)
    )
    session.start()
    before = session.draft
    text = "the answers come out too long"
    near = find_likely(text)
    assert near is not None
    session.reply(text)
    assert session.draft == before
    assert session.reading.choices == (near,)


def test_a_greeting_leads_to_no_question_about_a_field() -> None:
    """No field is likely."""
    assert find_likely("good morning to all") is None


@pytest.mark.prove_all
def test_the_weights_are_those_that_the_script_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other versions of the solver may round a weight otherwise, or leave out one of the least."""
    place = ROOT / ".ci/linked.py"
    monkeypatch.syspath_prepend(str(place.parent))
    found = importlib.util.spec_from_file_location("linked_script", place)
    assert found is not None
    assert found.loader is not None
    script = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, "linked_script", script)
    found.loader.exec_module(script)
    learned: dict[str, Any] = json.loads(script.write(script.learn_all(set())))
    written = json.loads(script.TARGET.read_text(encoding="utf-8"))
    assert learned.keys() == written.keys()
    for name, table in written.items():
        assert learned[name]["fits"] == pytest.approx(table["fits"], abs=0.02)
        ours, theirs = _list_weights(learned[name]), _list_weights(table)
        for key in ours.keys() | theirs.keys():
            assert abs(ours.get(key, 0) - theirs.get(key, 0)) <= script.SMALLEST + 0.02, key


def _list_weights(table: dict[str, Any]) -> dict[tuple[str, str], float]:
    model = Model(**table)
    return {
        (feature, option): weight
        for feature in model.features
        for option, weight in model.weights_of(feature)
    }
