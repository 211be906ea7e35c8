"""The cleaned content of a row, and its damage."""

import pytest

from ftc.compiler.resolve.rows.example import Example, read_example
from ftc.compiler.resolve.rows.roles import Roles, make_reader
from ftc.runtime.prepare.records import Source
from ftc.runtime.read.tool_rows import read_calling_chat
from ftc.runtime.tokens.reasoned_chats import strip


def test_control_characters() -> None:
    """Tabs and line ends are text; other control characters and a byte order mark are damage."""
    read = make_reader(Roles(form="text", text="text"))
    for text, damage in (
        ("one\ttwo\r\nthree café", ()),
        ("a\x00b", ("control",)),
        ("\x1b[31m", ("control",)),
        ("\ufeffstart", ("control",)),
        ("cafÃ©", ("misencoded",)),
        ("caf\ufffd", ("misencoded", "lost")),
    ):
        example = read_example({"text": text}, read, repair=True)
        assert isinstance(example, Example)
        assert example.damage == damage, text


@pytest.mark.parametrize(
    "said",
    [
        "<think>\n\n</think>\n\nIt is 4.",
        "<think></think>It is 4.",
        "<think>\nTwo and two.\n</think>\n\nIt is 4.",
        "Two and two.</think>It is 4.",
        "It is 4.",
    ],
)
def test_stripped_rows_are_those_of_the_bundle(said: str) -> None:
    """An empty block is reasoning too: neither the check nor prepare.py keeps it."""
    row = {
        "messages": [{"role": "user", "content": "How much?"}, {"role": "agent", "content": said}]
    }
    read = make_reader(Roles(form="chat", messages="messages"))
    example = read_example(row, read, repair=True, strip_reasoning=True)
    source = Source(
        columns={"messages": "messages"}, read=read_calling_chat, chunks=lambda: iter(())
    )
    turns, _ = source.read_row(row, repair=True, strip=strip)
    assert isinstance(example, Example)
    assert example.turns == turns == (("user", "How much?"), ("assistant", "It is 4."))


def test_an_empty_system_message_is_none() -> None:
    """The row is used without it, and its damage is found in the texts that stay."""
    said = {"role": "assistant", "content": "caf\ufffd"}
    chat = [{"role": "system", "content": ""}, {"role": "user", "content": "\x00Who?"}, said]
    example = read_example(
        {"messages": chat}, make_reader(Roles(form="chat", messages="messages")), repair=True
    )
    assert isinstance(example, Example)
    assert example.turns == (("user", "\x00Who?"), ("assistant", "caf\ufffd"))
    assert example.damage == ("misencoded", "lost", "control")
