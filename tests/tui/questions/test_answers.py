"""A bare answer: the meaning of a message when a field was asked."""

from typing import Any

import pytest

from ftc.tui.questions.answers import understand


@pytest.mark.parametrize(
    ("asked", "text", "changes"),
    [
        ("/name", "qwen-tickets", {"/name": "qwen-tickets"}),
        ("/name", "My Run", {"/name": "my-run"}),
        ("/data/source", "tatsu-lab/alpaca", {"/data/source": "tatsu-lab/alpaca"}),
        ("/data/source", "Qwen/Qwen3-4B", {"/model/id": "Qwen/Qwen3-4B"}),
        ("/export/types", "none", {"/export/types": []}),
        ("/export/types", "cap", {"/export/types": []}),
        ("/export/types", "no", {"/export/types": []}),
        ("/hardware/count", "no, dues", {"/hardware/count": 2}),
        ("/training/epochs", "2,5", {"/training/epochs": 2.5}),
        ("/training/schedule", "Cosine", {"/training/schedule": "cosine"}),
        ("/method/rank", "auto", {"/method/rank": "auto"}),
        ("/name", "3 epochs", {"/training/epochs": 3}),
    ],
)
def test_the_question_says_what_is_meant(asked: str, text: str, changes: dict[str, Any]) -> None:
    """The question resolves ambiguous words; explicit words take precedence."""
    reading = understand(text, {}, asked)
    assert {change.pointer: change.value for change in reading.changes} == changes


@pytest.mark.parametrize("asked", ["/name", "/data/source", "/export/types", "/model/id"])
@pytest.mark.parametrize(("text", "kind"), [("undo", "undo"), ("why?", "why"), ("quit", "quit")])
def test_a_request_is_never_an_answer(asked: str, text: str, kind: str) -> None:
    """Undo, `why` and quit work at every question."""
    request = understand(text, {}, asked).request
    assert request is not None
    assert request.kind == kind


def test_talk_is_no_answer() -> None:
    """A sentence of many words is not the value of a path."""
    assert understand("well I am not so sure about any of this", {}, "/data/source").empty


def test_an_answer_that_the_schema_refuses_is_kept_apart() -> None:
    """The chat can then say which values the field accepts."""
    reading = understand("-3", {}, "/training/epochs")
    assert reading.changes == ()
    assert [change.value for change in reading.refused] == [-3]
