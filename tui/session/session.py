"""Reads each message and answers it; front ends only show the answers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from textwrap import indent
from typing import Any, Final

from ftc.compiler.knowledge.well_known.models import find_model
from ftc.tui.agent.finder import Finder
from ftc.tui.agent.hook import consult, disclose, hear, offer_server
from ftc.tui.bundle.finish import find_written
from ftc.tui.conversation.card import make_card
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.goal_dialogue import (
    answer_without_data,
    settle_goal,
    take_option,
    tell_goal,
    with_objective,
    write_and_use,
    write_label_as_text,
)
from ftc.tui.conversation.repair import find_fixable, repair
from ftc.tui.conversation.request_handlers import handle
from ftc.tui.conversation.topic_answers import answer_question
from ftc.tui.conversation.topics import find_topic
from ftc.tui.conversation.unused import name_unused
from ftc.tui.languages.field_names import find_asked, name_field
from ftc.tui.languages.spoken import find_spoken
from ftc.tui.languages.voice import Language, Voice
from ftc.tui.questions.answers import continues, understand
from ftc.tui.questions.choices import meets_all, plan_options
from ftc.tui.questions.detection import detect, make_examples, tell_detection
from ftc.tui.questions.dialogue import GOAL, Option, Question
from ftc.tui.questions.field_values import enum_options, enums, label_value
from ftc.tui.questions.ordinals import find_offer, split_choice
from ftc.tui.state.draft import Draft, list_values
from ftc.tui.state.goals import find_goal
from ftc.tui.state.likely_files import list_spaced, read_columns
from ftc.tui.state.line import Line, lay_out
from ftc.tui.state.unknown_gpu import ask_near, ask_suggested
from ftc.tui.understanding.fields.hinted import find_wished
from ftc.tui.understanding.fields.relative import numeric_fields
from ftc.tui.understanding.followup import last_number, read_followup, scales_it
from ftc.tui.understanding.learned.likely import find_likely
from ftc.tui.understanding.models.model_wishes import meets
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import (
    Change,
    Choice,
    ModelWish,
    Names,
    Paste,
    Reading,
)
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import fold
from ftc.tui.understanding.text.sentences import is_question
from ftc.tui.understanding.vague import find_vague
from ftc.tui.understanding.values.row_limits import takes_by_order

_MOST_KEYS: Final = 40
_COLUMNS: Final = "/data/columns/"
#: Topics that are answered even if the message is not a question.
_UNASKED: Final = frozenset({"data", "diverged", "labels", "no_data", "small_device"})
#: The topics of the first messages.
_OPENING: Final = ("/model/id", "/data/source", "/hardware/gpu", "/hardware/count")
#: The maximum length of a text whose words may hint at a field.
_LONGEST_WISH: Final = 600
_LACKS_DATA: Final = re.compile(any_of(WORDS["lacks_data"]))
_FILE: Final = re.compile(r"[^\s\"'`,;:()]+\.(?:csv|jsonl|json)\b")


@dataclass(slots=True, kw_only=True)
class Session(Conversation):
    """A conversation with its messages. `reply` may be slow, because it reads files and the Hub.

    If `follows` is set, it answers in the language of the first message, and later switches to the
    language of two messages in a row. `spoken` is the language of the last message that shows one.
    `sent` are the user's messages of the conversation that was saved in this folder. `finder` looks
    for a language model on this machine to offer. `last_number` is the pointer of the field that
    "make it 128" refers to: the number that was set or named last.
    """

    transcript: list[Line] = field(default_factory=list)
    kept: Draft | None = None
    reading: Reading = field(default_factory=Reading)
    taken: tuple[Change, ...] = ()
    follows: bool = False
    spoken: Language | None = None
    finder: Finder | None = None
    sent: tuple[str, ...] = ()
    last_number: str = ""

    def start(self) -> tuple[Line, ...]:
        """Greet, report the detection, and ask the first question or offer to continue a draft."""
        self.look()
        found = detect(self.observer.folder)
        text = tell_detection(found, self.voice)
        lines = [self.line("greeting"), Line(who="ftc", text=text, kind="found")]
        if self.kept is not None:
            kept = self.line("go_on", draft=self._named(self.kept))
            asked = self.line("go_on.ask", "question")
            return self._say([*lines, *disclose(self), kept, asked])
        if not self.draft.data:
            examples = make_examples(found, self.voice)
            told = "\n".join((self.voice.say("examples"), *(f"  {each}" for each in examples)))
            cells = tuple((each,) for each in examples)
            lines.append(Line(who="ftc", text=told, kind="examples", cells=cells))
        return self._say([*lines, *disclose(self), *self.ask()])

    def _named(self, draft: Draft) -> str:
        """Return the values of a draft with the names of their fields, one per line."""
        language = self.voice.language
        values = list_values(draft)
        rows = tuple((name_field(find_asked(at), language), value) for at, value in values)
        return indent(lay_out(rows), "  ")

    def fork(self) -> "Session":
        """Return a copy for a reply in the background; this session does not change."""
        return replace(
            self, transcript=[*self.transcript], past=[*self.past], future=[*self.future]
        )

    def reply(self, text: str) -> tuple[Line, ...]:
        """Take one message and return ftc's reply."""
        self.transcript.append(Line(who="you", text=text))
        self.reading, self.taken, self.launched = Reading(), (), None
        before = self.draft
        switched = [*self._follow(text)] if self.follows else []
        offered = offer_server(self, self.finder)
        lines = [*switched, *offered, *self._answer(text.strip())]
        self.last_number = last_number(self.reading.changes or self.taken, text, self.last_number)
        if self.draft != before and self.reading.changes:
            lines = list(self._with_card(text, before, lines))
        return self._say(lines)

    def _follow(self, text: str) -> Iterator[Line]:
        """Switch to the language of this message and the one before, if it is new, and say so."""
        spoken = find_spoken(text)
        if spoken is None:
            return
        first = sum(line.who == "you" for line in self.transcript) == 1
        before, self.spoken = self.spoken, spoken
        if (first or spoken == before) and spoken != self.voice.language:
            self.voice = Voice(language=spoken)
            yield self.line("language.follows")

    def _with_card(self, text: str, before: Draft, lines: list[Line]) -> Iterator[Line]:
        """Yield the lines; the one about the changes also holds the message's card."""
        unused = () if self.reading.paste else name_unused(self.reading, self.reading.changes, text)
        card = make_card(self.reading, before, unused)
        for line in lines:
            if line.kind != "noted":
                yield line
                continue
            yield replace(line, card=card)
            if unused:
                yield self.line("not_used", "unused", words="; ".join(unused))

    def repair(self, code: str | None = None) -> tuple[Line, ...]:
        """Apply the fix of a finding, by default the most severe one with a fix."""
        self.reading, self.taken = Reading(), ()
        finding = find_fixable(self, code)
        if finding is not None:
            self.transcript.append(self.asked_to_fix(finding.code))
        return self._say(repair(self, code))

    def asked_to_fix(self, code: str) -> Line:
        """Return the user's line that requests the fix of a finding."""
        return Line(who="you", text=self.voice.say("fix.says", code=code))

    def choose(self, index: int) -> tuple[Line, ...]:
        """Take one of the offered answers; raises IndexError for any other number."""
        option = self.options[index]
        self.transcript.append(Line(who="you", text=option.label))
        return self._say(take_option(self, option))

    @property
    def awaits_yes(self) -> bool:
        """Whether ftc waits for a yes or a no: to a saved draft, a proposal, or files to write."""
        return self.kept is not None or bool(self.proposal) or self.confirms is not None

    @property
    def options(self) -> tuple[Option, ...]:
        """The offered answers; none while ftc waits for a yes or a no, or after the end."""
        if self.awaits_yes or self.ended:
            return ()
        return self.step.options if isinstance(self.step, Question) else ()

    @property
    def lasting_draft(self) -> Draft:
        """The draft to save: the saved one as long as it is offered and no other has begun."""
        return self.draft if self.kept is None or self.draft.data else self.kept

    def _answer(self, text: str) -> list[Line]:
        if not text:
            return self.ask()
        if self.kept is not None:
            return self._go_on(text)
        if self.confirms is not None and (decided := self._confirm(text)) is not None:
            return decided
        if self.proposal and (decided := self._decide(text)) is not None:
            return decided
        self.supposed = () if self.writes else self.proposal
        self.proposal, self.writes = (), None
        if (heard := hear(self, text, self.finder)) is not None:
            return heard
        if (option := self._offered(text)) is not None:
            self.taken = option.changes
            return take_option(self, option)
        if (both := split_choice(text, self.options)) is not None:
            told = take_option(self, both[0])
            lines = [*(each for each in told if each.kind != "question"), *self._answer(both[1])]
            self.taken = both[0].changes
            return lines
        planned = self.situation.planned_values()
        if (again := self._followed(text, planned)) is not None:
            self.reading = again
            return self._take(again, text)
        if scales_it(text):
            return [self.line("which_it", "question", text=text)]
        pointer = self._asked_field()
        reading = understand(text, self.draft.data, pointer, planned, self._names(text))
        if reading.request is None and not reading.changes and (near := self._vague(text)):
            reading = Reading(choices=(near,))
        if not reading.changes and self._lacks_data(text):
            return answer_without_data(self, text)
        if not reading.empty:
            self.reading = reading
            return self._take(reading, text)
        if (aside := self._aside(text)) is not None:
            return aside
        if (near := self._wished(text)) is not None:
            self.reading = Reading(choices=(near,))
            return self._ask_choice(near)
        if self.agent is not None:
            return consult(self, text)
        if (near := self._likely(text)) is not None:
            self.reading = Reading(choices=(near,))
            return self._ask_choice(near)
        return [self.line("not_understood", text=text), *self.ask()]

    def _followed(self, text: str, planned: Mapping[str, Any]) -> Reading | None:
        """Return the reading of a message about the last number, or about that of the question."""
        pointer = self.last_number or self._asked_field()
        if pointer not in numeric_fields():
            return None
        now = self.draft.get(pointer)
        again = read_followup(text, pointer, planned.get(pointer) if now is None else now)
        if isinstance(again, Choice):
            return Reading(choices=(again,))
        return None if again is None else Reading(changes=(again,))

    def _asked_field(self) -> str | None:
        """Return the field that a bare answer sets: the data until the goal is known."""
        if not isinstance(self.step, Question):
            return None
        return "/data/source" if self.step.pointer == GOAL else self.step.pointer

    def _lacks_data(self, text: str) -> bool:
        """Return whether a message answers the question about the data with "there is none yet"."""
        asks_data = isinstance(self.step, Question) and self.step.pointer == "/data/source"
        return (
            asks_data
            and not self.draft.has("/data/source")
            and _LACKS_DATA.search(fold(text)) is not None
        )

    def _aside(self, text: str) -> list[Line] | None:
        """Return the answer to a message about a topic or a goal that sets no field."""
        asks = is_question(text) or find_topic(text) in _UNASKED
        answer = answer_question(self, text, None) if asks else None
        if answer is not None:
            return answer
        near = ask_near(text) or ask_suggested(text, self._asked_field())
        found = find_goal(text)
        if near is None and found is not None and self.situation.plan is not None:
            near = self._wished(text)
        if near is not None:
            self.reading = Reading(choices=(near,))
            return self._ask_choice(near)
        if found is None:
            return None
        self.reading = Reading(used=(found[1],))
        return settle_goal(self, found[0])

    def _vague(self, text: str) -> Choice | None:
        """Return the question for a message that is only a wish, such as "make it faster"."""
        return find_vague(text[:_LONGEST_WISH]) if self._has_begun() else None

    def _wished(self, text: str) -> Choice | None:
        """Return the question that everyday words hint at, once a model or data is named."""
        return find_wished(text[:_LONGEST_WISH]) if self._has_begun() else None

    def _likely(self, text: str) -> Choice | None:
        """Return the question about the field that a message most likely means, if any.

        Before a model or data is named, it is about one of them or about the machine. A single word
        that answers a question about a column does not lead to a question about another column.
        """
        asked = self.step.pointer if isinstance(self.step, Question) else ""
        if is_question(text) or (asked.startswith(_COLUMNS) and len(text.split()) == 1):
            return None
        near = find_likely(text[:_LONGEST_WISH])
        opening = near is None or near.pointer.startswith(_OPENING)
        return near if opening or self._has_begun() else None

    def _has_begun(self) -> bool:
        return self.draft.has("/model/id") or self.draft.has("/data/source")

    def _take(self, reading: Reading, text: str) -> list[Line]:
        if reading.request is not None:
            noted = self.change(reading.changes) if reading.changes else []
            answer = answer_question(self, text, reading.request)
            return [*noted, *(answer or handle(self, reading.request))]
        if reading.paste is not None:
            return self._take_paste(reading, reading.paste)
        goal = None
        if self.goal is None and self.situation.plan is None and (found := find_goal(reading.rest)):
            goal = found[0]
            reading = self.reading = replace(reading, used=(found[1],))
            reading = self.reading = with_objective(reading, goal, self.draft)
        as_text = write_label_as_text(reading)
        told = [] if as_text is reading else [self.line("objective.as_text")]
        reading = self.reading = as_text
        if goal is not None:
            lines = [*self.settle(goal, reading.changes), *self.ask()]
        else:
            lines = self.apply(reading.changes) if reading.changes else []
        refused = [self._refuse(change) for change in reading.refused]
        lines = [*self._remarks(reading), *told, *lines]
        if reading.asked is None:
            return [*refused, *(lines or self.ask())]
        noted = [line for line in lines if line.kind == "noted"]
        return [*refused, *noted, *self._ask_choice(reading.asked)]

    def _remarks(self, reading: Reading) -> Iterator[Line]:
        """Yield remarks about the values that were read."""
        for change in reading.needless:
            key = "stays_unpublished" if change.pointer == "/publish/private" else "stays_off"
            yield self.line(key, name=change.pointer[1:].replace("/", "."))
        if reading.used and self.goal is not None:
            yield tell_goal(self, self.goal)
        for change in reading.changes:
            if takes_by_order(change):
                yield self.line("sample", what=label_value(change.value))
            unknown = change.pointer.startswith("/data/columns/") and self.situation.data is None
            if unknown and change.value is not None and not self._names("").columns:
                yield self.line("column_unchecked", what=label_value(change.value))

    def _take_paste(self, reading: Reading, paste: Paste) -> list[Line]:
        """Say how many lines were pasted, which keys were used, and which were not."""
        if not (reading.changes or paste.left):
            return [self.line("pasted_text", lines=paste.lines), *self.ask()]
        taken = self.change(reading.changes) if reading.changes else []
        left = ", ".join(paste.left[:_MOST_KEYS]) + (", \u2026" if paste.left[_MOST_KEYS:] else "")
        told = [
            self.line("pasted", lines=paste.lines, taken=len(reading.changes)),
            *taken,
            *([self.line("pasted_left", "unused", keys=left)] if left else []),
        ]
        return [*told, *(self._ask_choice(reading.asked) if reading.asked else self.ask())]

    def _refuse(self, change: Change) -> Line:
        """Say why a value is rejected; the draft does not change."""
        tried = self.observer.look(Draft().changed((change,)))
        told = next(map(self.told, tried.findings), self.listed((change,)))
        return Line(who="ftc", text=told, kind="trouble")

    def _decide(self, text: str) -> list[Line] | None:
        """Apply or drop the proposal; None if the message does neither."""
        request = read(text, {}).request
        if request is None or request.kind not in ("yes", "no"):
            return None
        changes, self.proposal = self.proposal, ()
        writes, self.writes = self.writes, None
        if request.kind == "no":
            return [self.line("dropped"), *self.ask()]
        return self.apply(changes) if writes is None else write_and_use(self, changes, writes)

    def _confirm(self, text: str) -> list[Line] | None:
        """Write the files after a yes; None if the message is not a decision."""
        act, self.confirms = self.confirms, None
        request = read(text, {}).request
        if act is None or request is None or request.kind not in ("yes", "no", "overwrite"):
            return None
        return [self.line("dropped"), *self.ask()] if request.kind == "no" else act(self)

    def _go_on(self, text: str) -> list[Line]:
        """Restore the saved draft after a yes or a change to it; begin a new one after a no.

        The offer stays open after a message that sets nothing, such as a question. After a message
        that describes another fine-tune, `undo` leads back to the saved draft.
        """
        kept, self.kept = self.kept, None
        request = read(text, {}).request
        if kept is not None and request is not None and request.kind == "yes":
            return self._continue(kept)
        if kept is not None and continues(text, kept):
            self._continue(kept)
            return [self.line("go_on.kept"), *self._answer(text)]
        if request is not None and request.kind == "no":
            return self.ask()
        before = self.draft, self.goal
        lines = self._answer(text)
        if request is not None and request.kind == "restart":
            return lines
        if self.ended:
            self.kept = kept
            return lines
        if self.proposal or self.reading.choices or (self.draft, self.goal) != before:
            self.past = [*([kept] if kept is not None else []), *self.past[1:]]
            return [self.line("go_on.left"), *lines]
        self.kept = kept
        told = [line for line in lines if line.kind != "question"]
        return [*told, self.line("go_on.ask", "question")]

    def _continue(self, kept: Draft) -> list[Line]:
        """Go on with the saved draft, and with its file if that still has the same spec."""
        self.spec = find_written(kept, self.observer.folder)
        return self.go_to(kept)

    def _offered(self, text: str) -> Option | None:
        """Return the offered answer that a message names by number or by label."""
        if text.isdecimal() and 1 <= int(text) <= len(self.options):
            return self.options[int(text) - 1]
        folded = text.casefold()
        for each in self.options:
            if folded in (each.label.casefold(), self.label(each).casefold()):
                return each
        return find_offer(text, self.options)

    def _names(self, text: str) -> Names:
        """Return the files with spaces in their names, and the columns of the data."""
        folder = self.observer.folder
        files = list_spaced(folder) if "." in text else ()
        named = [*(name for name in files if name in text), *_FILE.findall(text)]
        if not named and self.situation.data is not None:
            return Names(files=files, columns=self.situation.data.columns)
        source = named[0] if named else self.draft.get("/data/source")
        columns = read_columns(folder / source) if isinstance(source, str) else ()
        return Names(files=files, columns=columns)

    def _wish(self, choice: Choice, wish: ModelWish) -> list[Line]:
        """Store a wish about the model, and ask for a model unless the draft's model meets it."""
        self.model_wish = self.model_wish.joined(wish)
        own = self.draft.get("/model/id")
        known = find_model(str(own)) if own is not None else None
        if known is not None and meets(self.model_wish, known):
            left = tuple(each for each in self.reading.choices if each != choice)
            self.reading = replace(self.reading, choices=left)
            return [self.line("wish.met", model=own), *self.ask()]
        question = self.offer(Question(pointer=choice.pointer))
        if not any(map(meets_all, question.options)):
            self.model_wish = ModelWish()
            return [self.line("wish.none", words=choice.words), *self.ask()]
        self.step, self.tabled = question, ()
        return [*self.table(), self.line("wish.asked", "question", words=choice.words)]

    def _ask_choice(self, choice: Choice) -> list[Line]:
        if choice.wish is not None:
            return self._wish(choice, choice.wish)
        options = tuple(
            Option(
                label=label_value(value),
                changes=(Change(pointer=choice.pointer, value=value, words=choice.words),),
                key="option.unset" if value is None else None,
            )
            for value in choice.values
        )
        suggested = 0 if options else None
        self.step = Question(pointer=choice.pointer, options=options, suggested=suggested)
        if options and choice.pointer == "/model/id" and self.situation.plan is not None:
            sound, withheld = plan_options([*options], self.draft, self.situation, self.observer)
            options = tuple(sound)
            self.step = replace(self.step, options=options, withheld=tuple(withheld))
        if not options and choice.pointer in enums():
            self.step = replace(self.step, options=tuple(enum_options(choice)))
        elif not options:
            self.step = self.offer(self.step)
        key = choice.why or ("which_one" if options else "which_value")
        line = self.line(
            key, words=choice.words, what=label_value(choice.values[0] if options else "")
        )
        names_data = choice.pointer == "/data/source" and bool(self.options)
        asked = self.voice.ask(choice.pointer)
        text = line.text if options else asked if names_data else f"{line.text}\n{asked}"
        return [Line(who="ftc", text=text, kind="question")]

    def _say(self, lines: list[Line]) -> tuple[Line, ...]:
        self.transcript += lines
        return tuple(lines)
