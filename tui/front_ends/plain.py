"""The assistant line by line: for a screen reader, a dumb terminal, a pipe or a program."""

import json
import os
import queue
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from threading import Thread
from typing import Final, TextIO

from ftc.tui.languages.translation import tell
from ftc.tui.languages.voice import Voice
from ftc.tui.session.exchange import describe
from ftc.tui.session.session import Session
from ftc.tui.session.view import make_offers
from ftc.tui.state.line import Line
from ftc.tui.state.saved_state import Kept, keep

#: The first line of a pasted block, up to a blank line: "{", or a key without a value.
_BLOCK: Final = re.compile(r"\s*\{\s*(?:\"|$)|[\w.-]+:\s*$")
#: A line "key: value" begins a block if another line of a config has already arrived.
_KEY: Final = re.compile(r"[A-Za-z_][\w.-]*:\s+\S")
_MORE: Final = re.compile(r"[A-Za-z_\"'][\w.\"'-]*:(?:\s|$)|\s+\S|- ")
#: The maximum time between two lines of a paste.
_PASTE_SECONDS: Final = 0.05


def converse(session: Session, asking: TextIO, telling: TextIO) -> None:
    """Ask and read until the user quits or closes the input.

    The draft is saved after each reply. On a terminal, lines can be edited, and Up shows the
    messages sent before.
    """
    mouth = _Mouth(telling, session.voice)
    session.hears = mouth.hear
    told = _tell(session, session.start(), telling, frozenset())
    edited = edit_lines(session.sent, asking, telling)
    if edited is None:
        _prompt(telling)
    for text in read_messages(asking, blank=True) if edited is None else edited:
        told = _tell(session, mouth.end(session.reply(text)), telling, told)
        save(session)
        if session.ended:
            return
        if edited is None:
            _prompt(telling)


@dataclass(slots=True)
class _Mouth:
    """Writes a language model's reply as it arrives; `said` is the part written so far."""

    telling: TextIO
    voice: Voice
    said: str = ""

    def hear(self, model: str, piece: str) -> None:
        """Write a piece; the first piece follows the model's name."""
        if not self.said:
            self.telling.write(f"{self.voice.say('agent.says', model=model)}\n")
        self.said += piece
        self.telling.write(piece)
        self.telling.flush()

    def end(self, lines: tuple[Line, ...]) -> tuple[Line, ...]:
        """End the streamed text with a new line, and return the lines that remain to be printed."""
        said, self.said = self.said, ""
        if not said:
            return lines
        self.telling.write("\n")
        return tuple(line for line in lines if line.said != said)


def save(session: Session) -> None:
    """Save the draft and the conversation for the next start in this folder."""
    kept = Kept(draft=session.lasting_draft, transcript=tuple(session.transcript))
    keep(session.observer.folder, kept)


def edit_lines(sent: tuple[str, ...], asking: TextIO, telling: TextIO) -> Iterator[str] | None:
    """Return the messages typed on a terminal with line editing and the history of `sent`.

    The result is None if the input is not a terminal that can edit lines.
    """
    is_terminal = asking is sys.stdin and telling is sys.stdout
    if not (is_terminal and asking.isatty() and telling.isatty()):
        return None
    if os.environ.get("TERM", "dumb") == "dumb":
        return None
    try:
        import readline  # noqa: PLC0415 - Windows does not have it
    except ImportError:
        return None
    readline.parse_and_bind("set enable-bracketed-paste on")  # several pasted lines are one message
    readline.clear_history()
    for text in sent:
        readline.add_history(text)
    return _edited()


def _edited() -> Iterator[str]:
    """Yield the lines read with the line editor, until the input ends."""
    while True:
        try:
            text = input("> ")
        except EOFError:
            return
        yield printable(text)


def converse_in_json(session: Session, asking: TextIO, telling: TextIO) -> None:
    """Answer each message with one JSON object on a line, until "quit" or the end of the input."""
    session.start()
    for text in read_messages(asking):
        before = session.draft
        lines = session.reply(text)
        save(session)
        record = describe(session, text, before, lines)
        telling.write(json.dumps(record, ensure_ascii=False) + "\n")
        telling.flush()
        if session.ended:
            return


def read_messages(asking: TextIO, *, blank: bool = False) -> Iterator[str]:
    """Yield the messages: lines, or a pasted block up to its first blank line.

    A block begins with "{", with a line "key:", or with a line "key: value" if another line of a
    config follows immediately. `blank` keeps empty messages.
    """
    lines = _Lines(asking)
    while (text := lines.next()) is not None:
        if _BLOCK.match(text):
            yield "\n".join([text, *lines.until_blank()])
        elif _KEY.match(text) and (more := list(lines.config())):
            yield "\n".join([text, *more])
        elif blank or text.strip():
            yield text


class _Lines:
    """The lines of an input; a thread reads a file ahead, to detect the end of a paste."""

    def __init__(self, asking: TextIO) -> None:
        self._memory: TextIO | None = asking if isinstance(asking, StringIO) else None
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._seen: list[str | None] = []
        if self._memory is None:
            Thread(target=self._read, args=(asking,), daemon=True).start()

    def _read(self, asking: TextIO) -> None:
        for line in asking:
            self._queue.put(printable(line.rstrip("\n")))
        self._queue.put(None)

    def _get(self, seconds: float | None) -> str | None:
        if self._memory is None:
            return self._queue.get(timeout=seconds)
        line = self._memory.readline()
        return printable(line.rstrip("\n")) if line else None

    def next(self) -> str | None:
        """Return the next line, or None at the end."""
        line = self._seen.pop() if self._seen else self._get(None)
        if line is None:
            self._seen.append(None)
        return line

    def until_blank(self) -> Iterator[str]:
        """Yield the lines up to a blank line or the end; the blank line is dropped."""
        while (line := self.next()) is not None and line.strip():
            yield line

    def config(self) -> Iterator[str]:
        """Yield the lines of a config that have already arrived, up to a blank line."""
        while True:
            try:
                line = self._seen.pop() if self._seen else self._get(_PASTE_SECONDS)
            except queue.Empty:
                return
            if line is not None and not line.strip():
                return
            if line is None or not _MORE.match(line):
                self._seen.append(line)
                return
            yield line


def printable(text: str) -> str:
    """Return a text with a question mark for each byte that is not UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _prompt(telling: TextIO) -> None:
    telling.write("> ")
    telling.flush()


def _tell(
    session: Session, lines: tuple[Line, ...], telling: TextIO, told: frozenset[str]
) -> frozenset[str]:
    """Write the new findings, then a reply and the offered answers.

    `told` are the findings already shown that still apply; the function returns the current ones. A
    finding in the reply is not repeated.
    """
    reply = "\n".join(line.text for line in lines)
    telling.write(f"{reply}\n" if reply else "")
    found = {tell(finding, session.voice) for finding in session.situation.findings}
    telling.writelines(
        f"! {text}\n" for text in sorted(found) if text not in told and text not in reply
    )
    answers = enumerate(make_offers(session), start=1)
    telling.writelines(f"  {number}. {answer}\n" for number, answer in answers)
    telling.flush()
    return frozenset(found)
