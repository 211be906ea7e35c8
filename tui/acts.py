"""What a request does: undo, explain, show, save, compile and the rest, each one function."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from ftc.spec.finding import EnvironmentFailure, Finding
from ftc.spec.load import load_document
from ftc.tui.advice import cheaper, fit, what_if
from ftc.tui.choices import offer
from ftc.tui.dialogue import Done, Question, next_step
from ftc.tui.draft import Draft, read_draft
from ftc.tui.explaining import explain
from ftc.tui.finish import finish, save, spec_path
from ftc.tui.judgement import judge
from ftc.tui.line import Line
from ftc.tui.translation import tell_failure
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
    """Leave what was merely offered; a question that has to be answered stays."""
    del about
    if isinstance(session.step, Question) and session.step.optional:
        return [session.line("dropped"), *session.go_to(session.draft)]
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
    told = [session.line("why", why=session.voice.why(step.pointer))]
    if because:
        told.append(session.line("because", why=because))
    lines = session.apply(option.changes, chosen=True)
    return [lines[0], *told, *lines[1:]]


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


def _hello(session: "Session", about: str) -> list[Line]:
    del about
    return [session.line("greeting"), *session.ask()]


def _quit(session: "Session", about: str) -> list[Line]:
    del about
    session.ended = True
    return [session.line("goodbye")]


def _show(session: "Session", about: str) -> list[Line]:
    del about
    return [Line(who="ftc", text=session.spec_text(), kind="spec"), *session.ask()]


def _compile(session: "Session", about: str) -> list[Line]:
    """Write the spec and the bundle; a draft that still has a question says so."""
    del about
    if isinstance(next_step(session.draft, session.situation), Question):
        return [session.line("not_yet"), *session.go_to(session.draft)]
    path = spec_path(session.draft, session.observer.folder, session.spec)
    try:
        finished = finish(session.draft, path)
    except EnvironmentFailure as failure:
        return [_failed(session, failure)]
    session.spec, session.finished = finished.spec, finished
    if finished.bundle is None:
        return [_told(session, finding) for finding in finished.findings]
    tree = "\n".join(f"  {name}" for name in finished.files)
    warnings = [_told(session, finding) for finding in finished.findings]
    compiled = session.line("compiled", spec=path, bundle=finished.bundle, files=tree)
    return [*warnings, compiled, session.line("next", bundle=finished.bundle)]


def _save(session: "Session", about: str) -> list[Line]:
    """Write the spec under a name, or under its own."""
    folder = session.observer.folder
    path = folder / about if about else spec_path(session.draft, folder, session.spec)
    if path.suffix not in (".json", ".yaml", ".yml"):
        path = path.with_name(path.name + ".json")
    if path.exists() and path != session.spec:
        return [session.line("taken", path=path)]
    try:
        save(session.draft, path)
    except EnvironmentFailure as failure:
        return [_failed(session, failure)]
    session.spec = path
    return [session.line("saved", path=path), *session.ask()]


def _load(session: "Session", about: str) -> list[Line]:
    """Take a spec from a file as the draft, to change it."""
    path = session.observer.folder / about
    document = load_document(str(path))
    if isinstance(document, tuple):
        return [_told(session, finding) for finding in document]
    if not isinstance(document.data, dict):
        return [session.line("no_spec", path=path)]
    session.past.append(session.draft)
    session.future.clear()
    session.spec = path if path.suffix == ".json" else None
    return [session.line("loaded", path=path), *session.go_to(read_draft(document.data))]


def _retry(session: "Session", about: str) -> list[Line]:
    """Look up again what could not be had, and say what is known of it now."""
    del about
    session.observer.forget()
    lines = session.go_to(session.draft)
    return [session.line("retried"), *session.facts_told(), *lines]


def _plan(session: "Session", about: str) -> list[Line]:
    """Say the plan's answer: fits or not, peak of capacity, hours."""
    del about
    plan = session.situation.plan
    if plan is None:
        return [session.line("no_plan"), *session.ask()]
    return [session.line("plan_is", plan=session.outlook(plan)), *session.ask()]


def _models(session: "Session", about: str) -> list[Line]:
    """Ask for the model, with the shortlist for what is known so far."""
    del about
    asked = Question(pointer="/model/id", optional=session.draft.has("/model/id"))
    session.step = offer(asked, session.draft, session.situation, session.observer)
    return [session.line("models"), *session.ask()]


def _judge(session: "Session", about: str) -> list[Line]:
    """Weigh what a question asks about; what another request answers is left to it."""
    lines, request = judge(session, about)
    return lines if request is None else act(session, request)


def _failed(session: "Session", failure: EnvironmentFailure) -> Line:
    return Line(who="ftc", text=tell_failure(failure, session.voice), kind="trouble")


def _told(session: "Session", finding: Finding) -> Line:
    return Line(who="ftc", text=session.told(finding), kind="finding")


_ACTS: Final[Mapping[str, Act]] = {
    "yes": _yes,
    "no": _no,
    "unsure": _unsure,
    "why": _why,
    "undo": _undo,
    "redo": _redo,
    "restart": _restart,
    "retry": _retry,
    "hello": _hello,
    "help": _help,
    "quit": _quit,
    "show": _show,
    "compile": _compile,
    "save": _save,
    "load": _load,
    "plan": _plan,
    "models": _models,
    "explain": explain,
    "judge": _judge,
    "what_if": what_if,
    "fit": fit,
    "cheaper": cheaper,
}
