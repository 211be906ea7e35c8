"""The session: one conversation, its draft and its way back; front ends only show it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from ftc.compiler.plan.plan import Plan
from ftc.spec.finding import Finding
from ftc.tui.acts import act
from ftc.tui.answers import understand
from ftc.tui.choices import offer
from ftc.tui.dialogue import Done, Option, Question, Step, next_step
from ftc.tui.draft import Draft, written
from ftc.tui.finish import Finished
from ftc.tui.language_model import ModelReader
from ftc.tui.line import Kind, Line
from ftc.tui.looking import look
from ftc.tui.situation import Observer, Situation
from ftc.tui.translation import tell_with_help
from ftc.tui.understanding.reader import WORDS_ALONE, read
from ftc.tui.understanding.reading import Change, Choice, Reading, Understander
from ftc.tui.voice import Voice

_LOOKED_UP: Final = frozenset({"/model/id", "/data/source", "/data/sources", "/hardware/gpu"})


@dataclass(slots=True, kw_only=True)
class Session:
    """A conversation. `reply` may look things up, so a front end calls it where it may wait."""

    observer: Observer
    voice: Voice = field(default_factory=Voice)
    understanders: tuple[Understander, ...] = (WORDS_ALONE,)
    draft: Draft = field(default_factory=Draft)
    situation: Situation = field(default_factory=Situation)
    step: Step = field(default_factory=Done)
    transcript: list[Line] = field(default_factory=list)
    past: list[Draft] = field(default_factory=list)
    future: list[Draft] = field(default_factory=list)
    proposal: tuple[Change, ...] = ()
    kept: Draft | None = None
    spec: Path | None = None
    finished: Finished | None = None
    ended: bool = False

    def start(self) -> tuple[Line, ...]:
        """Greet, and ask the first question; offer to go on with a draft that was kept."""
        self._look()
        if self.kept is not None:
            return self._say([self.line("greeting"), self.line("go_on", spec=_text(self.kept))])
        return self._say([self.line("greeting"), *self.ask()])

    def fork(self) -> "Session":
        """Return a copy to reply with aside: what is not taken back changes nothing here."""
        return replace(
            self, transcript=[*self.transcript], past=[*self.past], future=[*self.future]
        )

    def reply(self, text: str) -> tuple[Line, ...]:
        """Take one message and return what ftc says to it."""
        self.transcript.append(Line(who="you", text=text))
        return self._say(self._answer(text.strip()))

    def choose(self, index: int) -> tuple[Line, ...]:
        """Take one of the answers on offer; raises IndexError for another number."""
        option = self.options[index]
        self.transcript.append(Line(who="you", text=option.label))
        return self._say(self.apply(option.changes))

    @property
    def options(self) -> tuple[Option, ...]:
        """The answers on offer; none while it is open whether to go on with the last draft."""
        if self.kept is not None:
            return ()
        return self.step.options if isinstance(self.step, Question) else ()

    def _answer(self, text: str) -> list[Line]:
        if not text:
            return self.ask()
        if self.kept is not None:
            return self._go_on(text)
        if self.proposal and (decided := self._decide(text)) is not None:
            return decided
        self.proposal = ()
        if (option := self._offered(text)) is not None:
            return self.apply(option.changes)
        pointer = self.step.pointer if isinstance(self.step, Question) else None
        for understander in self.understanders:
            if understander.sure:
                reading = understand(text, self.draft.data, pointer)
            else:
                reading = understander.read(text, self.draft.data)
            if not reading.empty:
                return self._take(reading, sure=understander.sure)
        excuses = [each.excuse for each in self.understanders if isinstance(each, ModelReader)]
        told = [self.line(excuse) for excuse in excuses if excuse]
        return [*told, self.line("not_understood", text=text), *self.ask()]

    def _take(self, reading: Reading, *, sure: bool) -> list[Line]:
        if reading.request is not None:
            noted = self._change(reading.changes) if reading.changes else []
            return [*noted, *act(self, reading.request)]
        if not sure:
            self.proposal = reading.changes
            return [self.line("proposal", "proposal", what=self.compared(reading.changes))]
        refused = [self._refuse(change) for change in reading.refused]
        lines = self.apply(reading.changes) if reading.changes else []
        if reading.choices:
            return [*refused, *lines[:1], *self._ask_choice(reading.choices[0])]
        return [*refused, *(lines or self.ask())]

    def _refuse(self, change: Change) -> Line:
        """Say why a value cannot be taken; the draft stays as it was."""
        tried = self.observer.look(Draft().changed((change,)))
        told = next(map(self.told, tried.findings), self.listed((change,)))
        return Line(who="ftc", text=told, kind="trouble")

    def _decide(self, text: str) -> list[Line] | None:
        """Apply or drop what was proposed; None where the message does neither."""
        request = read(text, {}).request
        if request is None or request.kind not in ("yes", "no"):
            return None
        changes, self.proposal = self.proposal, ()
        return self.apply(changes) if request.kind == "yes" else [self.line("dropped"), *self.ask()]

    def _go_on(self, text: str) -> list[Line]:
        """Take the kept draft up on a yes; anything else begins anew, and counts as said."""
        kept, self.kept = self.kept, None
        request = read(text, {}).request
        if kept is not None and request is not None and request.kind == "yes":
            return self.go_to(kept)
        if request is not None and request.kind == "no":
            return self.ask()
        return self._answer(text)

    def _offered(self, text: str) -> Option | None:
        """Return the answer on offer that a message names by number or by label."""
        if text.isdecimal() and 1 <= int(text) <= len(self.options):
            return self.options[int(text) - 1]
        folded = text.casefold()
        return next((each for each in self.options if each.label.casefold() == folded), None)

    def apply(self, changes: tuple[Change, ...], *, chosen: bool = False) -> list[Line]:
        """Make changes, and return what is said of them and the next question."""
        return [*self._change(changes, chosen=chosen), *self.ask()]

    def _change(self, changes: tuple[Change, ...], *, chosen: bool = False) -> list[Line]:
        self.past.append(self.draft)
        self.future.clear()
        if any(self._is_repeated(change) for change in changes):
            self.observer.forget()
        self.draft = self.draft.changed(changes, chosen=chosen)
        self._look()
        key = "chosen" if chosen else "noted"
        return [self.line(key, what=self.listed(changes)), *self._found(self.past[-1])]

    def _is_repeated(self, change: Change) -> bool:
        """Whether what can be looked up is said again: it may be there by now."""
        return change.pointer in _LOOKED_UP and change.value == self.draft.get(change.pointer)

    def _found(self, before: Draft) -> Iterator[Line]:
        """Yield what looking at the draft's files, model and machine found anew."""
        folder = self.observer.folder
        return look(before, self.draft, self.situation, folder=folder, voice=self.voice)

    def facts_told(self) -> tuple[Line, ...]:
        """Return what the draft's files, model and machine turned out to be."""
        return tuple(self._found(Draft()))

    def go_to(self, draft: Draft) -> list[Line]:
        """Take another draft in place of this one, and ask on."""
        self.draft = draft
        self._look()
        return self.ask()

    def _look(self) -> None:
        self.situation = self.observer.look(self.draft)
        step = next_step(self.draft, self.situation)
        if isinstance(step, Question):
            step = offer(step, self.draft, self.situation, self.observer)
        self.step = step

    def ask(self) -> list[Line]:
        """Return the present question, after what is wrong with the answer that it had."""
        if isinstance(self.step, Done):
            return [self.line("done")]
        lines = []
        if self.step.trouble is not None:
            text = self.told(self.step.trouble)
            lines.append(Line(who="ftc", text=text, kind="trouble"))
        if self.step.optional:
            return []
        question = f"{self.voice.ask(self.step.pointer)}\n{self.voice.why(self.step.pointer)}"
        if len(self.step.options) > 1 and self.step.options[1].key == "option.repair":
            question = self.voice.say("which_repair")
        return [*lines, Line(who="ftc", text=question, kind="question")]

    def told(self, finding: Finding) -> str:
        """Return what is wrong, and below it what to do."""
        return tell_with_help(finding, self.voice)

    def _ask_choice(self, choice: Choice) -> list[Line]:
        options = tuple(
            Option(
                label=value,
                changes=(Change(pointer=choice.pointer, value=value, words=choice.words),),
            )
            for value in choice.values
        )
        self.step = Question(pointer=choice.pointer, options=options, suggested=0)
        line = self.line("which_one", words=choice.words)
        return [Line(who="ftc", text=line.text, kind="question")]

    def label(self, option: Option) -> str:
        """Return an answer in words: its own sentence where it has one, else its value."""
        if option.key is not None:
            return self.voice.say(option.key, label=option.label)
        pointer = self.step.pointer if isinstance(self.step, Question) else ""
        return self.voice.label(pointer, option.label)

    def consequence(self, option: Option) -> str:
        """Return what an answer leads to, in words; nothing where no plan can be made yet."""
        outlook = "" if option.plan is None else self.outlook(option.plan)
        told = [self._tell(key, values) for key, values in option.told]
        return "; ".join(part for part in (*told, outlook) if part)

    def _tell(self, key: str, values: Mapping[str, Any]) -> str:
        """Return a fact in words; a value in `_bytes` is a size."""
        shown = {
            name.removesuffix("_bytes"): self.voice.size(value) if "_bytes" in name else value
            for name, value in values.items()
        }
        return self.voice.say(key, **shown)

    def outlook(self, plan: Plan) -> str:
        """Return a plan in words: fits or not, how much is to spare, how long."""
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

    def spec_text(self) -> str:
        """Return the spec as it would be written now."""
        return _text(self.draft)

    def listed(self, changes: tuple[Change, ...]) -> str:
        """Return changes in words, as `field = value`."""
        return ", ".join(_shown(change) for change in changes)

    def compared(self, changes: tuple[Change, ...]) -> str:
        """Return changes as what is and what would be, a line each."""
        return "".join(f"\n  {_differing(change, self.draft)}" for change in changes)

    def line(self, key: str, kind: Kind = "said", **values: object) -> Line:
        """Return a sentence of the catalogue as a line."""
        return Line(who="ftc", text=self.voice.say(key, **values), kind=kind)

    def _say(self, lines: list[Line]) -> tuple[Line, ...]:
        self.transcript += lines
        return tuple(lines)


def _text(draft: Draft) -> str:
    return json.dumps(written(draft), indent=2, ensure_ascii=False)


def _shown(change: Change) -> str:
    name = change.pointer[1:].replace("/", ".")
    if change.value is None:
        return f"{name} \u2190 \u2205"
    value = ", ".join(map(str, change.value)) if isinstance(change.value, list) else change.value
    return f"{name} = {value if value != '' else '[]'}"


def _differing(change: Change, draft: Draft) -> str:
    old, new = (
        json.dumps(value, ensure_ascii=False) if value is not None else "\u2205"
        for value in (draft.get(change.pointer), change.value)
    )
    return f"{change.pointer[1:].replace('/', '.')}: {old} \u2192 {new}"
