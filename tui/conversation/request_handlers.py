"""The handlers of requests, one function for each: undo, explain, show, save, compile, ..."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, cast

from ftc.compiler.write.conflict import Conflict
from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.load import load_document
from ftc.tui.bundle.actions import Act
from ftc.tui.bundle.finish import finish, is_written, save, say_next, spec_path
from ftc.tui.bundle.launching import launch
from ftc.tui.conversation.advice import (
    cheaper,
    fit,
    lighter,
    limit,
    recommend_models,
    slow,
    unlimit,
    what_if,
)
from ftc.tui.conversation.conversation import Conversation, draft_text
from ftc.tui.conversation.explaining import explain, tell_mentioned
from ftc.tui.conversation.fact_answers import tell_changes, tell_spec
from ftc.tui.conversation.field_advice import tell_field
from ftc.tui.conversation.goal_dialogue import take_option
from ftc.tui.conversation.judgement import judge
from ftc.tui.conversation.repair import repair
from ftc.tui.languages.translation import tell, tell_failure
from ftc.tui.questions.dialogue import GOAL, Done, Option, Question, asked_pointers, next_step
from ftc.tui.state.chain import chain, free_path
from ftc.tui.state.draft import Draft, read_draft
from ftc.tui.state.line import Kind, Line
from ftc.tui.understanding.fields.spoken import Mention, find_mentions
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Change, Request
from ftc.tui.understanding.text.message import Message, fold
from ftc.tui.understanding.text.numbers import read_number

Handler = Callable[[Conversation, str], list[Line]]


def handle(conversation: Conversation, request: Request) -> list[Line]:
    """Handle a request, and return the lines to show."""
    return _HANDLERS[request.kind](conversation, request.about)


def _yes(conversation: Conversation, about: str) -> list[Line]:
    """Take the suggested answer, or compile if there is no question left."""
    del about
    if isinstance(conversation.step, Done):
        return _compile(conversation, "")
    return _unsure(conversation, "")


def _no(conversation: Conversation, about: str) -> list[Line]:
    """Drop the offer; a required question stays open."""
    del about
    if isinstance(conversation.step, Question) and conversation.step.optional:
        return [conversation.line("dropped"), *conversation.go_to(conversation.draft)]
    return [conversation.line("no_to_what"), *conversation.ask()]


def _leave(conversation: Conversation, about: str) -> list[Line]:
    """Say that nothing was changed: the message retracted its own request, or only showed a log."""
    del about
    return [conversation.line("dropped"), *conversation.ask()]


def _unsure(conversation: Conversation, about: str) -> list[Line]:
    """Explain the question, take the suggested answer, and give the reason."""
    del about
    step = conversation.step
    if not isinstance(step, Question):
        return conversation.ask()
    if step.suggested is None or not step.options:
        key = "goal.unsure" if step.pointer == GOAL else "only_you_know"
        return [conversation.line(key), *conversation.ask()]
    option = step.options[step.suggested]
    because = conversation.consequence(option)
    told = [conversation.line("why", why=conversation.voice.why(step.pointer))]
    if because:
        told.append(conversation.line("because", why=because))
    lines = take_option(conversation, option, chosen=True)
    return [lines[0], *told, *lines[1:]]


def _delegate(conversation: Conversation, about: str) -> list[Line]:
    """Apply the suggested answers until a question has none; one `undo` reverts all of them."""
    past, start = [*conversation.past], conversation.draft
    told: list[Line] = []
    while (option := _suggestion(conversation.step)) is not None:
        told.append(take_option(conversation, option, chosen=True)[0])
    if not told:
        return _unsure(conversation, about)
    conversation.past, conversation.tabled = [*past, start], ()
    return [*told, *conversation.ask()]


def _suggestion(step: Question | Done) -> Option | None:
    """Return the suggested answer of a question; None if it writes a file or repairs the spec."""
    if isinstance(step, Done) or step.optional or step.trouble or step.suggested is None:
        return None
    option = step.options[step.suggested] if step.options else None
    return None if option is None or option.writes else option


def _advise(conversation: Conversation, about: str) -> list[Line]:
    """Suggest an answer with its reason; for the model, list the models that match the message."""
    step = conversation.step
    if isinstance(step, Done):
        return conversation.ask()
    if step.pointer == "/model/id":
        return recommend_models(conversation, about)
    option = _suggestion(step)
    if option is None:
        return [conversation.line("only_you_know"), *conversation.ask()]
    label, why = conversation.label(option), conversation.consequence(option)
    return [conversation.line("advise", label=label, why=why), *conversation.ask()]


def _left(conversation: Conversation, about: str) -> list[Line]:
    """List the fields that have no answer yet, and ask the next question."""
    del about
    fields = [each for each in asked_pointers() if not conversation.draft.has(each)]
    if isinstance(conversation.step, Done) or not fields:
        return conversation.ask()
    named = ", ".join(each[1:].replace("/", ".") for each in fields)
    return [conversation.line("left", fields=named), *conversation.ask()]


def _why(conversation: Conversation, about: str) -> list[Line]:
    """Give the reason for the question and for the suggested answer; each is said once."""
    del about
    step = conversation.step
    if not isinstance(step, Question):
        return conversation.ask()
    asked, reason = conversation.ask(), conversation.voice.why(step.pointer)
    told = (
        [] if any(reason in line.text for line in asked) else [conversation.line("why", why=reason)]
    )
    option = _suggestion(step)
    because = "" if option is None else conversation.consequence(option)
    if option is not None and because:
        told.append(conversation.line("advise", label=conversation.label(option), why=because))
    return [*told, *asked]


def _undo(conversation: Conversation, about: str) -> list[Line]:
    """Undo the last change, a number of changes, or the last change of a named field."""
    mentions = find_mentions(Message(about))
    if mentions and (restored := tuple(_restored(conversation, mentions))):
        return conversation.apply(restored)
    if mentions or not conversation.past:
        return [conversation.line("nothing_to_undo"), *conversation.ask()]
    count = min(max(int(read_number(fold(about)) or 1), 1), len(conversation.past))
    before = conversation.draft
    for _ in range(count):
        conversation.future.append(conversation.draft)
        conversation.draft = conversation.past.pop()
    key = "undone" if count == 1 else "undone_many"
    told = conversation.told_difference(key, before, **({} if count == 1 else {"n": count}))
    return [told, *conversation.go_to(conversation.draft)]


def _restored(conversation: Conversation, mentions: Sequence[Mention]) -> Iterator[Change]:
    """Yield the values that the fields had before their last changes."""
    for pointer in dict.fromkeys(each.pointer for each in mentions):
        now = conversation.draft.get(pointer)
        others = (draft.get(pointer) for draft in reversed(conversation.past))
        before = next((value for value in others if value != now), now)
        if before != now:
            yield Change(pointer=pointer, value=before, words=pointer)


def _redo(conversation: Conversation, about: str) -> list[Line]:
    del about
    if not conversation.future:
        return [conversation.line("nothing_to_redo"), *conversation.ask()]
    before = conversation.draft
    conversation.past.append(before)
    lines = conversation.go_to(conversation.future.pop())
    return [conversation.told_difference("redone", before), *lines]


def _restart(conversation: Conversation, about: str) -> list[Line]:
    del about
    conversation.past.append(conversation.draft)
    conversation.future.clear()
    return [conversation.line("restarted"), *conversation.go_to(Draft())]


def _help(conversation: Conversation, about: str) -> list[Line]:
    del about
    return [conversation.line("help"), *conversation.ask()]


def _hello(conversation: Conversation, about: str) -> list[Line]:
    del about
    return [conversation.line("greeting"), *conversation.ask()]


def _thanks(conversation: Conversation, about: str) -> list[Line]:
    del about
    return [conversation.line("welcome"), *conversation.ask()]


def _quit(conversation: Conversation, about: str) -> list[Line]:
    del about
    conversation.ended = True
    return [conversation.line("goodbye")]


def _compile(conversation: Conversation, about: str) -> list[Line]:
    """Write the spec and the bundle, unless a question with several answers is still open."""
    del about
    conversation.look()
    taken = [*_take_single_answers(conversation)]
    if isinstance(next_step(conversation.draft, conversation.situation), Question):
        return [*taken, conversation.line("not_yet"), *conversation.go_to(conversation.draft)]
    return [*taken, *_write(conversation)]


def _write(conversation: Conversation, *, force: bool = False) -> list[Line]:
    """Write the spec and the bundle; without `force`, ask before files of the user are replaced."""
    path = spec_path(conversation.draft, conversation.observer.folder, conversation.spec)
    try:
        finished = finish(conversation.draft, path, force=force)
    except Conflict as conflict:
        conversation.spec = path
        conversation.confirms = None if force else partial(_write, force=True)
        what = "\n".join(f"  {tell(each, conversation.voice)}" for each in conflict.findings)
        key, kind = ("conflict.stays", "trouble") if force else ("conflict", "proposal")
        return [conversation.line(key, cast("Kind", kind), spec=path, what=what)]
    except EnvironmentFailure as failure:
        return [_failed(conversation, failure)]
    conversation.spec, conversation.finished = finished.spec, finished
    if finished.bundle is None:
        return [_told(conversation, finding) for finding in finished.findings]
    tree = "\n".join(f"  {name}" for name in _fold_folders(conversation, finished.files))
    warnings = [_told(conversation, finding) for finding in finished.findings]
    compiled = conversation.line("compiled", spec=path, bundle=finished.bundle, files=tree)
    following = Line(who="ftc", text=say_next(finished, conversation.voice))
    return [*warnings, compiled, conversation.line("compiled.after"), following]


def _take_single_answers(conversation: Conversation) -> Iterator[Line]:
    """Take the suggested answer of each open question that has no other."""
    while (option := _suggestion(conversation.step)) is not None:
        step = conversation.step
        if not isinstance(step, Question) or len(step.options) != 1:
            return
        yield take_option(conversation, option, chosen=True)[0]


def _fold_folders(conversation: Conversation, names: Sequence[str]) -> Iterator[str]:
    """Yield the names, but each folder once, with the number of its files."""
    held = Counter(name.partition("/")[0] for name in names if "/" in name)
    yield from (name for name in names if "/" not in name)
    for folder, count in held.items():
        yield conversation.voice.say("compiled.folder", folder=folder, count=count)


def _save(conversation: Conversation, about: str) -> list[Line]:
    """Write the spec to the named file, or to its current file."""
    folder = conversation.observer.folder
    path = folder / about if about else spec_path(conversation.draft, folder, conversation.spec)
    if path.suffix not in (".json", ".yaml", ".yml"):
        path = path.with_name(path.name + ".json")
    if path.exists() and path != conversation.spec:
        return [conversation.line("taken", path=path)]
    if errors := conversation.errors_to_save():
        conversation.confirms = partial(_save_at, path=path)
        what = "\n".join(f"  {tell(error, conversation.voice)}" for error in errors)
        asked = conversation.line(
            "save.errors", "proposal", count=len(errors), what=what, path=path
        )
        return [asked]
    return _save_at(conversation, path)


def _save_at(conversation: Conversation, path: Path) -> list[Line]:
    """Write the spec to a file, and ask the open question again."""
    try:
        save(conversation.draft, path)
    except EnvironmentFailure as failure:
        return [_failed(conversation, failure)]
    conversation.spec = path
    return [conversation.line("saved", path=path), *conversation.ask()]


def _load(conversation: Conversation, about: str) -> list[Line]:
    """Load a spec from a file as the draft."""
    path = conversation.observer.folder / about
    document = load_document(str(path))
    if isinstance(document, tuple):
        return [_told(conversation, finding) for finding in document]
    if not isinstance(document.data, dict):
        return [conversation.line("no_spec", path=path)]
    conversation.past.append(conversation.draft)
    conversation.future.clear()
    conversation.spec = path if path.suffix == ".json" else None
    return [conversation.line("loaded", path=path), *conversation.go_to(read_draft(document.data))]


def _retry(conversation: Conversation, about: str) -> list[Line]:
    """Repeat the lookups that failed, and show the result."""
    del about
    conversation.observer.forget()
    lines = conversation.go_to(conversation.draft)
    return [conversation.line("retried"), *conversation.facts_told(), *lines]


def _plan(conversation: Conversation, about: str) -> list[Line]:
    """Show the plan: whether it fits, the time, the peak memory, the batch, the learning rate."""
    del about
    plan = conversation.situation.plan
    if plan is None:
        return [conversation.tell_missing(), *conversation.ask()]
    training = plan.decisions.training
    values = conversation.line(
        "plan_is.values",
        peak=conversation.voice.size(plan.memory.device_bytes),
        batch=plan.decisions.batch.global_batch.value,
        micro=plan.decisions.batch.micro_batch.value,
        rate=conversation.voice.show(training.learning_rate.value),
        epochs=training.epochs.value,
        steps=training.total_steps.value,
    )
    told = conversation.line("plan_is", plan=conversation.outlook(plan))
    return [told, values, *conversation.ask()]


def _models(conversation: Conversation, about: str) -> list[Line]:
    """Ask for the model, with the current shortlist."""
    return recommend_models(conversation, about)


def _explain(conversation: Conversation, about: str) -> list[Line]:
    """Explain a term, or the field that the words name, and ask the open question again."""
    lines = explain(conversation, about) or [*tell_field(conversation, about, is_explained=False)]
    lines = lines or [*tell_mentioned(conversation, about)]
    return [*(lines or [conversation.line("no_page", topic=about)]), *conversation.ask()]


def _judge(conversation: Conversation, about: str) -> list[Line]:
    """Answer a question with the planner, or with another request."""
    lines, request = judge(conversation, about)
    return lines if request is None else handle(conversation, request)


def _later(conversation: Conversation, about: str) -> list[Line]:
    """Write the spec of a second training that follows this one; the draft does not change."""
    second = chain(conversation.draft, read(about, {}).changes)
    if second is None:
        return [conversation.line("later"), *conversation.ask()]
    path = free_path(conversation.observer.folder, second.data["name"])
    try:
        save(second, path)
    except EnvironmentFailure as failure:
        return [_failed(conversation, failure)]
    told = conversation.line(
        "chained",
        path=path,
        first=conversation.draft.get("/name"),
        spec=draft_text(second),
    )
    return [told, *conversation.ask()]


def _fix(conversation: Conversation, about: str) -> list[Line]:
    """Apply the fix of the named finding, or of the most severe finding with a fix."""
    return repair(conversation, about.upper() or None)


def _run(conversation: Conversation, about: str) -> list[Line]:
    del about
    return _act(conversation, "run")


def _rehearse(conversation: Conversation, about: str) -> list[Line]:
    del about
    return _act(conversation, "rehearse")


def _watch(conversation: Conversation, about: str) -> list[Line]:
    del about
    return _act(conversation, "watch")


def _act(conversation: Conversation, act: Act) -> list[Line]:
    """Do the same as the bundle's buttons; a bundle compiled from other settings is not run."""
    finished = conversation.finished
    if finished is None or finished.bundle is None:
        return [conversation.line("bundle.none"), *conversation.ask()]
    if act != "watch" and not is_written(conversation.draft, finished.spec):
        return [conversation.line("bundle.other"), *conversation.ask()]
    try:
        conversation.launched = launch(act, finished, conversation.voice)
    except EnvironmentFailure as failure:
        return [_failed(conversation, failure)]
    return [Line(who="ftc", text=conversation.launched.told)]


def _failed(conversation: Conversation, failure: EnvironmentFailure) -> Line:
    return Line(who="ftc", text=tell_failure(failure, conversation.voice), kind="trouble")


def _told(conversation: Conversation, finding: Finding) -> Line:
    return Line(who="ftc", text=conversation.told(finding), kind="finding")


_HANDLERS: Final[Mapping[str, Handler]] = {
    "yes": _yes,
    "leave": _leave,
    "no": _no,
    "unsure": _unsure,
    "delegate": _delegate,
    "left": _left,
    "advise": _advise,
    "why": _why,
    "undo": _undo,
    "redo": _redo,
    "restart": _restart,
    "retry": _retry,
    "hello": _hello,
    "help": _help,
    "thanks": _thanks,
    "quit": _quit,
    "show": tell_spec,
    "compile": _compile,
    "overwrite": _compile,
    "save": _save,
    "load": _load,
    "plan": _plan,
    "models": _models,
    "explain": _explain,
    "judge": _judge,
    "later": _later,
    "what_if": what_if,
    "fit": fit,
    "cheaper": cheaper,
    "lighter": lighter,
    "faster": slow,
    "limit": limit,
    "unlimit": unlimit,
    "changes": tell_changes,
    "fix": _fix,
    "run": _run,
    "rehearse": _rehearse,
    "watch": _watch,
}
