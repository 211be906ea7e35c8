"""Columns get their roles: as the spec names them, then by the usual names."""

from dataclasses import fields

import pytest

from ftc.compiler.resolve.rows.roles import Roles, Unassigned, assign_roles
from ftc.spec.sections import Columns

NONE: dict[str, str | None] = dict.fromkeys(field.name for field in fields(Columns))


def named(**said: str) -> Columns:
    """Return columns as a spec names them."""
    return Columns(**(NONE | said))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["id", "messages"], Roles(form="chat", messages="messages")),
        (["conversations"], Roles(form="chat", messages="conversations")),
        (
            ["prompt", "completion"],
            Roles(form="prompt_completion", prompt="prompt", completion="completion"),
        ),
        (
            ["Question", " Answer "],
            Roles(form="prompt_completion", prompt="Question", completion=" Answer "),
        ),
        (
            ["instruction", "input", "output", "text"],
            Roles(form="instruction", instruction="instruction", input="input", output="output"),
        ),
        (
            ["instruction", "response"],
            Roles(form="instruction", instruction="instruction", output="response"),
        ),
        (
            ["prompt", "chosen", "rejected"],
            Roles(form="preference", prompt="prompt", chosen="chosen", rejected="rejected"),
        ),
        (["rejected", "chosen"], Roles(form="preference", chosen="chosen", rejected="rejected")),
        (
            ["input", "output"],
            Roles(form="prompt_completion", prompt="input", completion="output"),
        ),
        (
            ["text", "label"],
            Roles(form="prompt_completion", prompt="text", completion="label"),
        ),
        (
            ["message", "intent"],
            Roles(form="prompt_completion", prompt="message", completion="intent"),
        ),
        (["title", "text"], Roles(form="text", text="text")),
        (["messages", "label"], Roles(form="chat", messages="messages")),
    ],
)
def test_usual_names_are_recognised(columns: list[str], expected: Roles) -> None:
    """The names of public data sets need no words in the spec."""
    assert assign_roles(columns, named=named(), form="auto") == expected


def test_named_columns_come_first() -> None:
    """What the spec says decides the form, and the rest is recognised beside it."""
    columns = ["Subject", "Team", "text", "label", "answer"]
    found = assign_roles(columns, named=named(prompt="Subject", completion="Team"), form="auto")
    assert found == Roles(form="prompt_completion", prompt="Subject", completion="Team")
    found = assign_roles(columns, named=named(prompt="Subject"), form="auto")
    assert found == Roles(form="prompt_completion", prompt="Subject", completion="answer")
    found = assign_roles(columns, named=named(text="Subject"), form="auto")
    assert found == Roles(form="text", text="Subject")


def test_the_form_limits_what_is_recognised() -> None:
    """The same columns can be read as plain text when the spec says so."""
    found = assign_roles(["text", "label"], named=named(), form="text")
    assert found == Roles(form="text", text="text")


def test_what_cannot_be_assigned_says_why() -> None:
    """A missing column, unknown names, and a role the form lacks are told apart."""
    missing = assign_roles(["a", "b"], named=named(prompt="c"), form="auto")
    assert missing == Unassigned(problem="missing", roles=("prompt",), form=None)
    both = assign_roles(["a", "b"], named=named(prompt="c", completion="d"), form="auto")
    assert both == Unassigned(problem="missing", roles=("prompt", "completion"), form=None)
    unknown = assign_roles(["a", "b"], named=named(), form="auto")
    assert unknown == Unassigned(problem="unrecognised", roles=(), form=None)
    chat = assign_roles(["a", "b"], named=named(), form="chat")
    assert chat == Unassigned(problem="unrecognised", roles=("messages",), form="chat")
    mixed = assign_roles(["a", "b"], named=named(messages="a", prompt="b"), form="auto")
    assert isinstance(mixed, Unassigned)


def test_a_verdict_on_a_conversation_needs_no_prompt() -> None:
    """The conversation begins with it."""
    roles = assign_roles(["messages", "label"], named=named(), form="auto", forms=("feedback",))
    assert roles == Roles(form="feedback", completion="messages", label="label")
    bare = assign_roles(["completion", "label"], named=named(), form="auto", forms=("feedback",))
    assert bare == Unassigned(problem="unrecognised", roles=("prompt",), form=None)
