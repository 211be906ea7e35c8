"""What a request does: undo, explain, show, save, compile and the rest, each one function."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from ftc.tui.dialogue import Done, Question
from ftc.tui.draft import Draft
from ftc.tui.line import Line
from ftc.tui.understanding.reading import Request

if TYPE_CHECKING:
    from ftc.tui.session import Session

Act = Callable[["Session", str], list[Line]]


def act(session: "Session", request: Request) -> list[Line]:
    """Do what is asked, and return what is said of it."""
    return _ACTS[request.kind](session, request.about)


def _yes(session: "Session", about: str) -> list[Line]:
    """Take the answer that ftc would take, or compile where nothing is left to ask."""
    del about
    if isinstance(session.step, Done):
        return _compile(session, "")
    return _unsure(session, "")


def _no(session: "Session", about: str) -> list[Line]:
    del about
    return [session.line("no_to_what"), *session.ask()]


def _unsure(session: "Session", about: str) -> list[Line]:
    """Explain, pick, and say why."""
    del about
    step = session.step
    if not isinstance(step, Question):
        return session.ask()
    if step.suggested is None or not step.options:
        return [session.line("only_you_know"), *session.ask()]
    option = step.options[step.suggested]
    because = session.consequence(option)
    lines = session.apply(option.changes, chosen=True)
    return [lines[0], *([session.line("because", why=because)] if because else []), *lines[1:]]


def _why(session: "Session", about: str) -> list[Line]:
    del about
    if isinstance(session.step, Question):
        return [session.line("why", why=session.voice.why(session.step.pointer))]
    return session.ask()


def _undo(session: "Session", about: str) -> list[Line]:
    del about
    if not session.past:
        return [session.line("nothing_to_undo"), *session.ask()]
    session.future.append(session.draft)
    return [session.line("undone"), *session.go_to(session.past.pop())]


def _redo(session: "Session", about: str) -> list[Line]:
    del about
    if not session.future:
        return [session.line("nothing_to_redo"), *session.ask()]
    session.past.append(session.draft)
    return [session.line("redone"), *session.go_to(session.future.pop())]


def _restart(session: "Session", about: str) -> list[Line]:
    del about
    session.past.append(session.draft)
    session.future.clear()
    return [session.line("restarted"), *session.go_to(Draft())]


def _help(session: "Session", about: str) -> list[Line]:
    del about
    return [session.line("help"), *session.ask()]


def _quit(session: "Session", about: str) -> list[Line]:
    del about
    session.ended = True
    return [session.line("goodbye")]


def _show(session: "Session", about: str) -> list[Line]:
    del about
    return [Line(who="ftc", text=session.spec_text(), kind="spec"), *session.ask()]


def _compile(session: "Session", about: str) -> list[Line]:
    """Ask the front end to compile; a draft that still has a question says so."""
    del about
    if isinstance(session.step, Question):
        return [session.line("not_yet"), *session.ask()]
    session.compile_wanted = True
    return []


_ACTS: Final[Mapping[str, Act]] = {
    "yes": _yes,
    "no": _no,
    "unsure": _unsure,
    "why": _why,
    "undo": _undo,
    "redo": _redo,
    "restart": _restart,
    "help": _help,
    "quit": _quit,
    "show": _show,
    "compile": _compile,
    "done": _compile,
}
