"""The assistant line by line: for a screen reader, a dumb terminal or a pipe."""

from typing import TextIO

from ftc.tui.line import Line
from ftc.tui.session import Session
from ftc.tui.view import make_offers


def converse(session: Session, asking: TextIO, telling: TextIO) -> None:
    """Ask and read until the user finishes, quits or closes the input."""
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
    answers = enumerate(make_offers(session), start=1)
    telling.writelines(f"  {number}. {answer}\n" for number, answer in answers)
    telling.flush()
