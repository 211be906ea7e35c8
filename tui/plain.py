"""The assistant line by line: for a screen reader, a dumb terminal, a pipe or a program."""

import json
import re
from collections.abc import Iterator
from typing import Final, TextIO

from ftc.tui.exchange import describe
from ftc.tui.line import Line
from ftc.tui.session import Session
from ftc.tui.view import make_offers

#: The first line of a pasted config.
_BLOCK: Final = re.compile(r"\s*\{\s*(?:\"|$)|[\w.-]+:\s*$")


def converse(session: Session, asking: TextIO, telling: TextIO) -> None:
    """Ask and read until the user finishes, quits or closes the input."""
    _tell(session, session.start(), telling)
    while not (session.ended or session.finished):
        telling.write("> ")
        telling.flush()
        text = asking.readline()
        if not text:
            return
        _tell(session, session.reply(printable(text.rstrip("\n"))), telling)


def converse_in_json(session: Session, asking: TextIO, telling: TextIO) -> None:
    """Answer each message with one JSON object on a line, until the input ends."""
    session.start()
    for text in read_messages(asking):
        before = session.draft
        lines = session.reply(text)
        record = describe(session, text, before, lines)
        telling.write(json.dumps(record, ensure_ascii=False) + "\n")
        telling.flush()
        if session.ended or session.finished:
            return


def read_messages(asking: TextIO) -> Iterator[str]:
    """Yield the messages: lines, or a pasted block up to its first blank line.

    A block begins with "{" or with a line "key:".
    """
    block: list[str] = []
    for line in asking:
        text = printable(line.rstrip("\n"))
        if block:
            if text.strip():
                block.append(text)
                continue
            yield "\n".join(block)
            block = []
        elif _BLOCK.match(text):
            block.append(text)
        elif text.strip():
            yield text
    if block:
        yield "\n".join(block)


def printable(text: str) -> str:
    """Return a text with a question mark for each byte that is not UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _tell(session: Session, lines: tuple[Line, ...], telling: TextIO) -> None:
    telling.writelines(f"{line.text}\n" for line in lines)
    answers = enumerate(make_offers(session), start=1)
    telling.writelines(f"  {number}. {answer}\n" for number, answer in answers)
    telling.flush()
