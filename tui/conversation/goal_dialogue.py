"""The dialogue about the goal, which is asked first and decides which data is needed."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.languages.translation import tell_failure
from ftc.tui.questions.dialogue import GOAL, Option, ask_goal
from ftc.tui.state.draft import Draft
from ftc.tui.state.goals import Goal, find_goal, free_name, objective_of, write_examples
from ftc.tui.state.likely_files import list_likely
from ftc.tui.state.line import Line
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Change, Reading
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import fold
from ftc.tui.understanding.text.sentences import is_question

_DEFAULT: Final = "sft"
_HEAD: Final = "classification"
_FILES: Final = ("/export/types", "/export/adapter")
_NAMES_HEAD: Final = re.compile(rf"\b{any_of(WORDS['names_head'])}\b")


def take_option(conversation: Conversation, option: Option, *, chosen: bool = False) -> list[Line]:
    """Take an offered answer: a goal, an example file, or changes."""
    if option.goal is not None:
        return settle_goal(conversation, option.goal, _read_objective(conversation, option))
    if option.lacks_data:
        return answer_without_data(conversation)
    if option.writes is not None:
        return write_and_use(conversation, option.changes, option.writes)
    return conversation.apply(option.changes, chosen=chosen)


def _read_objective(conversation: Conversation, option: Option) -> str | None:
    """Return the objective that the text of an answer sets when it is typed."""
    typed = read(conversation.label(option), conversation.draft.data).changes
    return next((str(each.value) for each in typed if each.pointer == GOAL), None)


def settle_goal(conversation: Conversation, goal: Goal, objective: str | None = None) -> list[Line]:
    """Set the goal, say which data it needs, and ask for the data or offer to write examples.

    Without an `objective` it is the usual one of the goal.
    """
    objective = objective or objective_of(goal)
    needed = objective not in (_DEFAULT, conversation.draft.get("/objective/type"))
    change = Change(pointer="/objective/type", value=objective, words=objective)
    changed = conversation.settle(goal, (change,) if needed else ())
    told = [tell_goal(conversation, goal), *changed]
    conversation.look()
    has_data = conversation.draft.has("/data/source")
    some = has_data or list_likely(conversation.observer.folder)
    if some and not conversation.lacks_data:
        return [*told, *conversation.ask()]
    return [*told, *offer_examples(conversation, goal)]


def tell_goal(conversation: Conversation, goal: Goal) -> Line:
    """Return the sentence about a goal and the data it needs."""
    return conversation.line(
        "goal.noted",
        goal=conversation.voice.say(f"goal.{goal}"),
        data=conversation.voice.say(f"goal.{goal}.data"),
    )


def with_objective(reading: Reading, goal: Goal, draft: Draft) -> Reading:
    """Return the reading with the objective of the goal, unless one is set or named."""
    objective = objective_of(goal)
    named = any(change.pointer == GOAL for change in reading.changes)
    if objective == _DEFAULT or named or draft.has(GOAL):
        return reading
    change = Change(pointer=GOAL, value=objective, words=reading.used[0])
    return replace(reading, changes=(*reading.changes, change))


def write_label_as_text(reading: Reading) -> Reading:
    """Return the reading with `sft` for a classifier whose GGUF file the same message asks for.

    A head for scores has no GGUF file; a model that writes the label as text has one. A message
    that names the head is not changed.
    """
    said = {change.pointer: change for change in reading.changes}
    objective = said.get(GOAL)
    exports = any(said[pointer].value for pointer in _FILES if pointer in said)
    if objective is None or objective.value != _HEAD or not exports:
        return reading
    if _NAMES_HEAD.search(fold(objective.words)):
        return reading
    text = replace(objective, value=_DEFAULT)
    changes = tuple(text if each is objective else each for each in reading.changes)
    return replace(reading, changes=changes)


def answer_without_data(conversation: Conversation, text: str = "") -> list[Line]:
    """Explain how to create training data, and offer an example file.

    The goal is needed first: it is the one that the message names, or else ftc asks for it. A
    question about the data for a goal does not set the goal.
    """
    conversation.lacks_data = True
    if conversation.goal is None and (found := find_goal(text)) is not None:
        asks = is_question(text)
        return (offer_examples if asks else settle_goal)(conversation, found[0])
    if conversation.goal is None:
        conversation.step = ask_goal()
        return [conversation.line("goal.needed"), *conversation.ask()]
    return offer_examples(conversation, conversation.goal)


def offer_examples(conversation: Conversation, goal: Goal) -> list[Line]:
    """Explain how to create data for the goal, and offer to write an example file."""
    name = free_name(goal, conversation.observer.folder)
    conversation.proposal = (Change(pointer="/data/source", value=name, words=name),)
    conversation.writes = goal
    return [
        conversation.line("data.how", how=conversation.voice.say(f"goal.{goal}.how")),
        conversation.line("examples.offer", "proposal", file=name),
    ]


def write_and_use(
    conversation: Conversation, changes: tuple[Change, ...], goal: Goal
) -> list[Line]:
    """Write the example file that the changes name, and apply the changes."""
    name = str(changes[0].value)
    path = Path(conversation.observer.folder / name)
    try:
        rows = write_examples(path, goal, conversation.voice.language)
    except EnvironmentFailure as failure:
        text = tell_failure(failure, conversation.voice)
        return [Line(who="ftc", text=text, kind="trouble"), *conversation.ask()]
    written = conversation.line("examples.written", file=name, rows=rows)
    return [written, *conversation.apply(changes)]
