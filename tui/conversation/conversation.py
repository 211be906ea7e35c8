"""The state of a conversation: the draft, its facts and plan, and their wording.

The handlers of requests work on this state. `session.py` builds on it: it reads messages and calls
the handlers.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from ftc.compiler.plan.plan import Plan
from ftc.compiler.shortlist import with_usual_rows
from ftc.spec.findings.finding import Finding
from ftc.spec.schema import fields_by_pointer
from ftc.tui.bundle.finish import Finished
from ftc.tui.bundle.launching import Launched
from ftc.tui.languages.translation import tell_with_help
from ftc.tui.languages.voice import Voice
from ftc.tui.questions.choices import offer
from ftc.tui.questions.dialogue import (
    Done,
    Option,
    Question,
    Step,
    ask_goal,
    asked_pointers,
    concerns,
    next_step,
)
from ftc.tui.questions.fact_summary import summarize_facts
from ftc.tui.questions.gguf_table import tabulate_types
from ftc.tui.questions.model_table import tabulate
from ftc.tui.state.draft import Draft, find_differences, written
from ftc.tui.state.goals import Goal
from ftc.tui.state.limits import is_over, tell_limit
from ftc.tui.state.line import Cells, Kind, Line, lay_out
from ftc.tui.state.served_model import Agent
from ftc.tui.state.situation import Observer, Situation
from ftc.tui.understanding.reading import Change, Limit, ModelWish

_TYPES: Final = "/export/types"
_MODEL: Final = "/model/id"
_REPAIR: Final = "option.repair"
#: A callback that gets a language model's name and each piece of its reply as it arrives.
Hears = Callable[[str, str], None]
#: What follows a yes.
Confirmed = Callable[["Conversation"], list[Line]]
#: The fields that a plan requires, by section; one field of each section is enough.
_PLANNED_FROM: Final[Mapping[str, tuple[str, ...]]] = {
    "model": ("/model/id",),
    "data": ("/data/source", "/data/sources"),
    "hardware": ("/hardware/gpu",),
}
_LOOKED_UP: Final = frozenset({"/model/id", "/data/source", "/data/sources", "/hardware/gpu"})


@dataclass(slots=True, kw_only=True)
class Conversation:
    """The draft, its history and the current step; methods return the lines to show.

    `proposal` waits for a yes; `writes` is the goal whose example file is written with it.
    `supposed` is the proposal before this message, which a question may be about. `confirms`
    writes files after a yes.  `lacks_data` means that the user said that
    there is no data yet. `model_wish` limits the offered models, and `limit` the time and the cost
    of the run. `tabled` is the table that was shown last. `agent` is the language model, or None
    without one; `hears` shows its reply while it arrives. `launched` is the process that the last
    message started with the bundle.
    """

    observer: Observer
    voice: Voice = field(default_factory=Voice)
    draft: Draft = field(default_factory=Draft)
    situation: Situation = field(default_factory=Situation)
    step: Step = field(default_factory=Done)
    past: list[Draft] = field(default_factory=list)
    future: list[Draft] = field(default_factory=list)
    proposal: tuple[Change, ...] = ()
    writes: Goal | None = None
    supposed: tuple[Change, ...] = ()
    confirms: "Confirmed | None" = None
    lacks_data: bool = False
    model_wish: ModelWish = field(default_factory=ModelWish)
    limit: Limit = field(default_factory=Limit)
    tabled: tuple[Line, ...] = ()
    spec: Path | None = None
    finished: Finished | None = None
    launched: Launched | None = None
    agent: Agent | None = None
    hears: Hears = lambda _model, _piece: None
    ended: bool = False

    @property
    def goal(self) -> Goal | None:
        """What the model should learn; None until the user states it."""
        return self.draft.goal

    def settle(self, goal: Goal | None, changes: tuple[Change, ...] = ()) -> list[Line]:
        """Set the goal and apply changes, which one `undo` reverts together."""
        before, self.draft = self.draft, replace(self.draft, goal=goal)
        lines = self.change(changes) if changes else []
        if self.draft != before:
            self.past[-1] = before
        elif goal != before.goal:
            self.past.append(before)
            self.future.clear()
            self.look()
        return lines

    def apply(self, changes: tuple[Change, ...], *, chosen: bool = False) -> list[Line]:
        """Apply changes to the draft, and return the lines about them with the next question."""
        return [*self.change(changes, chosen=chosen), *self.ask()]

    def change(self, changes: tuple[Change, ...], *, chosen: bool = False) -> list[Line]:
        """Apply changes to the draft, and return the lines about them.

        If only one answer of a question leads to a working plan, that answer is taken.
        """
        if any(self._is_repeated(change) for change in changes):
            self.observer.forget()
        before, self.draft = self.draft, self.draft.changed(changes, chosen=chosen)
        if self.draft != before:
            self.past.append(before)
            self.future.clear()
        earlier = self.situation.plan
        self.look()
        key = "chosen" if chosen else "noted"
        what = ", ".join(self._shown(change, before) for change in changes)
        noted = [self.line(key, "noted", what=what), *self._found(before), *self._limited(earlier)]
        return [*noted, *self.take_only_answer()]

    def _limited(self, earlier: Plan | None) -> Iterator[Line]:
        """Yield how a new plan compares with the user's limit, unless nothing changed in that."""
        plan = self.situation.plan
        was_over = earlier is not None and is_over(self.limit, earlier)
        was_priced = earlier is not None and earlier.cost is not None
        news = plan is not None and (
            earlier is None
            or was_over != is_over(self.limit, plan)
            or was_priced != (plan.cost is not None)
        )
        if news:
            yield from tell_limit(self.limit, plan, self.voice)

    def _is_repeated(self, change: Change) -> bool:
        """Return whether the change repeats a value whose lookup failed: it may succeed now."""
        return change.pointer in _LOOKED_UP and change.value == self.draft.get(change.pointer)

    def _found(self, before: Draft) -> Iterator[Line]:
        """Yield the new facts about the draft's files, model and machine."""
        folder = self.observer.folder
        return summarize_facts(before, self.draft, self.situation, folder=folder, voice=self.voice)

    def facts_told(self) -> tuple[Line, ...]:
        """Return the facts about the draft's files, model and machine."""
        return tuple(self._found(Draft()))

    def go_to(self, draft: Draft) -> list[Line]:
        """Replace the draft, and ask the next question; an equal draft gets no automatic answer."""
        before, self.draft = self.draft, draft
        self.look()
        taken = self.take_only_answer() if draft != before else []
        return [*taken, *self.ask()]

    def look(self) -> None:
        """Update the situation and the next step for the current draft."""
        self.situation = self.observer.look(self.draft)
        step = next_step(self.draft, self.situation)
        if self.goal is None and not self.draft.data:
            step = ask_goal()
        elif isinstance(step, Question):
            step = self.offer(step)
        self.step = step

    def offer(self, question: Question) -> Question:
        """Return a question with the answers for this draft, goal and wish."""
        return offer(
            question,
            self.draft,
            self.situation,
            self.observer,
            goal=self.goal,
            model_wish=self.model_wish,
        )

    def ask(self) -> list[Line]:
        """Return the current question, after the problem with the last answer to it, if any."""
        lines: list[Line] = []
        if isinstance(self.step, Done):
            return [self.line("done")]
        if self.step.trouble is not None:
            text = self.told(self.step.trouble)
            lines.append(Line(who="ftc", text=text, kind="trouble"))
        if self.step.optional:
            return lines
        if self.step.pointer == _MODEL and not self.step.options:
            lines.append(self.line("no_models"))
        question = f"{self.voice.ask(self.step.pointer)}\n{self.voice.why(self.step.pointer)}"
        if len(self.step.options) > 1 and self.step.options[1].key == _REPAIR:
            question = self.voice.say("which_repair")
        return [*lines, *self.table(), Line(who="ftc", text=question, kind="question")]

    def answer(self, *lines: Line) -> list[Line]:
        """Return the lines that answer the user's question, and then the open question."""
        if self.supposed:
            self.proposal = self.supposed
            what = self.compared(self.proposal)
            return [*lines, self.line("proposal", "proposal", what=what)]
        if isinstance(self.step, Question) and self.step.optional:
            return [*lines, *self.go_to(self.draft)]
        return [*lines, *self.ask()]

    def supposed_plan(self) -> Plan | None:
        """Return the plan of the last proposal, if one was open; otherwise the current plan."""
        if not self.supposed:
            return self.situation.plan
        return self.observer.look(self.draft.changed(self.supposed), offers=False).plan

    def take_only_answer(self) -> list[Line]:
        """Answer a question that has a single possible answer; return the lines about it.

        The answer joins the change that led to the question, so `undo` reverts both.
        """
        step = self.step
        if isinstance(step, Done) or step.trouble or not step.withheld or len(step.options) != 1:
            return []
        option = step.options[0]
        why = self.tell_withheld(step)
        what = f"{step.pointer[1:].replace('/', '.')} = {self.label(option)}"
        self.draft = self.draft.changed(option.changes, chosen=True)
        self.look()
        return [why, self.line("chosen", "noted", what=what), *self.take_only_answer()]

    def table(self) -> list[Line]:
        """Return the table of the offered models, and the answers that were withheld.

        The content of the last table is not repeated.
        """
        if isinstance(self.step, Done):
            return []
        table = tabulate(self.step.options, self.voice)
        told = [_tabled(table), self.line("models.legend")] if table else []
        model = self.situation.model
        if self.step.pointer == _TYPES and model is not None:
            told += [_tabled(tabulate_types(model, self.voice)), self.line("types.legend")]
        data = self.situation.data
        labels = self.goal == "classify" or (data is not None and bool(data.labels))
        if table and labels and self.model_wish.least is None:
            told.append(self.line("models.for_labels"))
        if table and data is not None and with_usual_rows(data) != data:
            rows = with_usual_rows(data).usable_rows
            told.append(self.line("models.more_rows", rows=rows, now=data.usable_rows))
        if self.step.withheld:
            told.append(self.tell_withheld(self.step))
        before, self.tabled = self.tabled, tuple(told)
        return [] if before == self.tabled else told

    def tell_withheld(self, question: Question) -> Line:
        """Return the lines about the withheld answers and the reasons."""
        return self.line("withheld", what=self._withheld(question.withheld))

    def _withheld(self, options: tuple[Option, ...]) -> str:
        """Return the withheld answers, grouped by reason."""
        labels: dict[str, list[str]] = {}
        for option in options:
            labels.setdefault(self._why_not(option), []).append(self.label(option))
        return "".join(f"\n  {'; '.join(names)}: {why}" for why, names in labels.items())

    def _why_not(self, option: Option) -> str:
        plan, error = option.plan, option.refused
        if error is None or (plan is not None and plan.memory.fits is False):
            return self.consequence(option)
        return error.problem.render(self.voice.language)

    def told(self, finding: Finding) -> str:
        """Return the finding's message, with its help below."""
        return tell_with_help(finding, self.voice)

    def label(self, option: Option) -> str:
        """Return the text of an answer: its own sentence, or else its value."""
        if option.way is not None and option.key == _REPAIR:
            return option.way.render(self.voice.language)
        if option.key is not None:
            return self.voice.say(option.key, label=option.label)
        pointer = self.step.pointer if isinstance(self.step, Question) else ""
        return self.voice.label(pointer, option.label)

    def consequence(self, option: Option) -> str:
        """Return the consequence of an answer; empty if there is no plan."""
        outlook = "" if option.plan is None else self.outlook(option.plan)
        told = [self._tell(key, values) for key, values in option.told]
        if option.way is not None and option.key != _REPAIR:
            told.insert(0, option.way.render(self.voice.language))
        return "; ".join(part for part in (*told, outlook) if part)

    def _tell(self, key: str, values: Mapping[str, Any]) -> str:
        """Return the sentence of a fact; a value whose name ends in `_bytes` is a size."""
        shown = {
            name.removesuffix("_bytes"): self.voice.size(value) if "_bytes" in name else value
            for name, value in values.items()
        }
        return self.voice.say(key, **shown)

    def outlook(self, plan: Plan) -> str:
        """Return a sentence about a plan: whether it fits, the spare memory, and the time."""
        memory = plan.memory
        if memory.capacity_bytes is None:
            seconds = plan.time_seconds
            time = "" if seconds is None else self.voice.duration(seconds)
            return self.voice.say("consequence.time", time=time) if time else ""
        if not memory.fits:
            needed, capacity = memory.device_bytes, memory.capacity_bytes
            sizes = {"needed": self.voice.size(needed), "capacity": self.voice.size(capacity)}
            return self.voice.say("consequence.not", **sizes)
        spare = self.voice.size(memory.capacity_bytes - memory.device_bytes)
        if plan.time_seconds is None:
            return self.voice.say("consequence.fits", spare=spare)
        time = self.voice.duration(plan.time_seconds)
        return self.voice.say("consequence.takes", spare=spare, time=time)

    def tell_missing(self) -> Line:
        """Return the sentence that lists what is missing for a plan, or names the open question."""
        missing = [
            self.voice.say(f"no_plan.{section}")
            for section, pointers in _PLANNED_FROM.items()
            if not any(self.draft.has(pointer) for pointer in pointers)
        ]
        if not missing and isinstance(self.step, Question) and not self.step.optional:
            name = self.step.pointer[1:].replace("/", ".")
            return self.line("no_plan.open", name=name)
        if not missing:
            return self.line("no_plan.unknown")
        return self.line("no_plan", missing=", ".join(missing))

    def errors_to_save(self) -> tuple[Finding, ...]:
        """Return the errors of the spec that would be saved from this draft."""
        return tuple(
            finding
            for finding in self.situation.findings
            if finding.severity == "error" and concerns(finding, self.draft)
        ) or self.observer.find_missing(self.draft)

    def spec_text(self) -> str:
        """Return the current spec as text."""
        return draft_text(self.draft)

    def listed(self, changes: tuple[Change, ...]) -> str:
        """Return changes as `field = value`."""
        return ", ".join(self._shown(change, None) for change in changes)

    def _shown(self, change: Change, before: Draft | None) -> str:
        """Return a change as `field = value`, with the value that it replaces, if any."""
        name = change.pointer[1:].replace("/", ".")
        old = None if before is None else before.get(change.pointer)
        if change.value is None:
            unset = before is not None and old is None
            key = "already" if unset else "again"
            return self.voice.say(f"{_who_decides(change.pointer)}_{key}", name=name)
        if old is None or old == change.value:
            return f"{name} = {_value(change.value)}"
        return self.voice.say("replaced", name=name, new=_value(change.value), old=_value(old))

    def compared(self, changes: tuple[Change, ...], before: Draft | None = None) -> str:
        """Return one line per change, with the old and the new value."""
        old = self.draft if before is None else before
        return "".join(f"\n  {_differing(change, old)}" for change in changes)

    def told_difference(self, key: str, before: Draft, **values: int) -> Line:
        """Return a sentence about what differs between an earlier draft and the current one."""
        parts = [self._shown(each, before) for each in find_differences(before, self.draft)]
        if self.draft.goal != before.goal:
            name = "none" if self.draft.goal is None else self.draft.goal
            parts.append(self.voice.say("goal.now", goal=self.voice.say(f"goal.{name}")))
        text = self.voice.say(key if parts else "undone_alike", what=", ".join(parts), **values)
        return Line(who="ftc", text=text)

    def line(self, key: str, kind: Kind = "said", **values: object) -> Line:
        """Return a sentence of the catalogue as a line."""
        return Line(who="ftc", text=self.voice.say(key, **values), kind=kind)


def _tabled(cells: Cells) -> Line:
    return Line(who="ftc", text=lay_out(cells), kind="table", cells=cells)


def draft_text(draft: Draft) -> str:
    """Return the text of a draft's spec."""
    return json.dumps(written(draft), indent=2, ensure_ascii=False)


def _differing(change: Change, draft: Draft) -> str:
    old, new = (
        json.dumps(value, ensure_ascii=False) if value is not None else "\u2013"
        for value in (draft.get(change.pointer), change.value)
    )
    return f"{change.pointer[1:].replace('/', '.')}: {old} \u2192 {new}"


def _who_decides(pointer: str) -> str:
    """Return what happens to a field that is not set: ftc asks, plans it, or leaves it out."""
    if pointer in asked_pointers():
        return "asked"
    known = fields_by_pointer().get(pointer)
    return "left_out" if known and known.schema.get("default", "") is None else "planned"


def _value(value: object) -> str:
    """Return a value formatted for a sentence."""
    shown = ", ".join(map(str, value)) if isinstance(value, list) else value
    return "[]" if shown == "" else str(shown)
