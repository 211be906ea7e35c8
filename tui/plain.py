"""The assistant line by line: for a screen reader, a dumb terminal or a pipe."""

from collections.abc import Iterator
from typing import TextIO

from ftc.tui.dialogue import Question
from ftc.tui.line import Line
from ftc.tui.session import Session


def converse(session: Session, asking: TextIO, telling: TextIO) -> None:
    """Ask and read until the person is done, quits or closes the input."""
    _tell(session, session.start(), telling)
    while not (session.ended or session.finished):
        telling.write("> ")
        telling.flush()
        text = asking.readline()
        if not text:
            return
        _tell(session, session.reply(text.rstrip("\n")), telling)


def _tell(session: Session, lines: tuple[Line, ...], telling: TextIO) -> None:
    telling.writelines(f"{line.text}\n" for line in lines)
    telling.writelines(f"{text}\n" for text in _numbered(session))
    telling.flush()


def _numbered(session: Session) -> Iterator[str]:
    """Yield the answers on offer, numbered from 1, each with what it leads to."""
    if not isinstance(session.step, Question):
        return
    for number, option in enumerate(session.options, start=1):
        consequence = session.consequence(option)
        yield f"  {number}. {session.label(option)}{f' ({consequence})' if consequence else ''}"
