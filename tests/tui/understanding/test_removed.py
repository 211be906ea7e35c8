"""Limits and other values of the draft are removed in words."""

from typing import Any, Final

import pytest

from ftc.tui.session.session import Session
from ftc.tui.understanding.reader import read

pytestmark = pytest.mark.prove

DRAFT: Final[dict[str, Any]] = {
    "name": "triage",
    "data": {"source": "tickets.csv", "max_rows": 500, "max_length": 512, "system": "Be brief."},
    "method": {"type": "lora", "rank": 32},
    "hardware": {"gpu": "RTX-4090", "price_per_hour": 0.4},
}
ROWS: Final = "/data/max_rows"


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("use all rows again", ROWS),
        ("all rows please", ROWS),
        ("remove the row limit", ROWS),
        ("use all the data", ROWS),
        ("no, train on everything", ROWS),
        ("stop limiting the rows", ROWS),
        ("unset data.max_rows", ROWS),
        ("sense límit de files", ROWS),
        ("fes servir totes les dades", ROWS),
        ("treu el límit de files", ROWS),
        ("usa todas las filas otra vez", ROWS),
        ("quita el límite de filas", ROWS),
        ("sin ningún límite de filas", ROWS),
        ("remove the maximum length", "/data/max_length"),
        ("drop the token limit", "/data/max_length"),
        ("remove the system message", "/data/system"),
        ("treu el missatge de sistema", "/data/system"),
        ("quita el mensaje de sistema", "/data/system"),
        ("forget the rank", "/method/rank"),
        ("treu el preu per hora", "/hardware/price_per_hour"),
        ("remove the name", "/name"),
    ],
)
def test_words_remove_a_value(text: str, pointer: str) -> None:
    """Nothing else changes."""
    talk = read(text, DRAFT)
    changes = talk.changes
    if talk.request is not None:
        assert talk.request.kind == "unlimit"
        return
    assert [(each.pointer, each.value) for each in changes] == [(pointer, None)]
    assert not talk.choices


@pytest.mark.parametrize(
    "text",
    [
        "drop all rows longer than 2048 tokens",
        "remove duplicates",
        "drop the rank to 8",
        "all rows go to training",
        "use only 200 rows",
        "remove the text column",
        "there is no limit on how long it may take",
    ],
)
def test_other_words_remove_nothing(text: str) -> None:
    """A name of a field beside other words has another meaning."""
    assert all(each.value is not None for each in read(text, DRAFT).changes)


def test_limits_are_lifted_in_a_talk(whole: Session) -> None:
    """The reply says that the limit is gone, and that there was none."""
    whole.reply("use only 100 rows")
    assert whole.draft.get(ROWS) == 100
    assert "data.max_rows is no longer set." in whole.reply("no limit")[0].text
    assert whole.draft.get(ROWS) is None
    assert "data.max_rows was not set." in whole.reply("use all the data")[0].text
    assert whole.reply("no limit")[0].text == "There is no limit."
    whole.reply("it must finish in 1 minute")
    assert whole.limit.seconds == 60
    assert whole.reply("forget the deadline")[0].text == "The limit on time and cost is dropped."
    assert whole.limit.seconds is None


def test_a_required_value_is_asked_for_again(whole: Session) -> None:
    """It is not called a planned one."""
    assert "name is no longer set (ftc asks for it)" in whole.reply("remove the name")[0].text
