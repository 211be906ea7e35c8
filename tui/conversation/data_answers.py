"""Answers questions about the data with the facts found in the files."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ftc.compiler.resolve.facts import DataFacts, Label
from ftc.spec.message import Message
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.explaining import tell_decision
from ftc.tui.conversation.repair import find_fixable, repair
from ftc.tui.questions.fact_summary import answer_labels, summarize_facts
from ftc.tui.state.draft import Draft
from ftc.tui.state.goals import Goal
from ftc.tui.state.line import Line
from ftc.tui.understanding.text.message import fold
from ftc.tui.understanding.text.numbers import read_number

#: The numbers of rows with which a goal is usually reached, and below which it usually is not.
_ENOUGH_ROWS: Final[Mapping[Goal, tuple[int, int]]] = {
    "classify": (1000, 200),
    "style": (500, 100),
    "transform": (1000, 200),
    "tools": (1000, 300),
    "preferences": (2000, 500),
    "retrieval": (1000, 300),
}
_ROWS_PER_LABEL: Final = 50
_COUNTED: Final = re.compile(
    r"(\d+(?:[.,]\d+)*)\s*(?:\w+ )?"
    r"(?:rows?|examples?|samples?|files|exemples|mostres|filas|ejemplos|muestras)\b"
)
_MOST_LABELS: Final = 3
#: The rule about labels that have fewer rows than there are splits.
_FEW_ROWS: Final = "FTC281"
#: Words for changing labels, which only the user can do.
_CHANGED: Final = re.compile(
    r"\b(?:merg|group|lump|fold|join|combin|remov|delet|drop|tak\w+ out|get rid|exclud"
    r"|ajunt|agrup|fusion|combin|tre[uw]|elimin|esborr|junt|quit|sac[ao]|borr)\w*"
)


def tell_data(conversation: Conversation, text: str) -> list[Line]:
    """Describe the files: rows, columns, the first rows, languages and problems."""
    del text
    draft, folder = conversation.draft, conversation.observer.folder
    before = Draft(data={name: value for name, value in draft.data.items() if name != "data"})
    told = summarize_facts(
        before, draft, conversation.situation, folder=folder, voice=conversation.voice
    )
    return conversation.answer(*(tuple(told) or (conversation.line("topic.data.none"),)))


def tell_lengths(conversation: Conversation, text: str) -> list[Line]:
    """Say how many tokens the rows have, and at which length the plan cuts them."""
    del text
    facts = conversation.situation.data
    if facts is None:
        return conversation.answer(conversation.line("topic.lengths.any"))
    lengths = facts.lengths
    key = "topic.lengths.estimate" if lengths.estimate else "topic.lengths"
    line = conversation.line(key, half=lengths.p50, most=lengths.p99, longest=lengths.max)
    return conversation.answer(line, *tell_decision(conversation, "max_length"))


def tell_labels(conversation: Conversation, text: str) -> list[Line]:
    """Name the labels with the most and with the fewest rows, and say who can change them."""
    facts = conversation.situation.data
    if facts is None:
        return conversation.answer(conversation.line("topic.labels.any"))
    labels = sorted(answer_labels(facts, conversation.draft), key=lambda label: -label.rows)
    if not labels:
        return conversation.answer(conversation.line("topic.labels.none"))
    most, fewest = labels[:_MOST_LABELS], labels[_MOST_LABELS:][-_MOST_LABELS:]
    key = "topic.labels" if fewest else "topic.labels.few"
    line = conversation.line(key, count=len(labels), most=_counted(most), fewest=_counted(fewest))
    if not _CHANGED.search(fold(text)):
        return conversation.answer(line, *_scarce_labels(conversation))
    rare = _counted([label for label in labels if label.rows < _ROWS_PER_LABEL][-_MOST_LABELS:])
    told = [line, conversation.line("topic.labels.fixed", rare=rare or "\u2013")]
    if find_fixable(conversation, _FEW_ROWS) is None:
        return conversation.answer(*told)
    return [*told, *repair(conversation, _FEW_ROWS)]


def tell_personal(conversation: Conversation, text: str) -> list[Line]:
    """Say how many rows hold personal data, by kind; the text is never shown."""
    del text
    facts = conversation.situation.data
    if facts is None:
        return conversation.answer(conversation.line("topic.personal.any"))
    looked = facts.contents.personal_looked_rows
    found = [
        Message(f"private.{kind}", {"rows": rows}).render(conversation.voice.language)
        for kind, rows in facts.contents.personal.items()
        if rows
    ]
    key = "topic.personal" if found else "topic.personal.none"
    line = conversation.line(key, rows=looked, kinds=", ".join(found))
    return conversation.answer(line)


def _counted(labels: list[Label]) -> str:
    return ", ".join(f"{label.name} ({label.rows})" for label in labels)


def tell_dropped(conversation: Conversation, text: str) -> list[Line]:
    """Say how many rows are left out, and why."""
    del text
    facts = conversation.situation.data
    if facts is None:
        return conversation.answer(conversation.line("topic.dropped.any"))
    kinds = {
        "blank": facts.blank_rows,
        "duplicate": facts.duplicate_rows,
        "malformed": facts.malformed_rows,
        "limit": max(0, _clean_rows(facts) - facts.usable_rows),
    }
    reasons = [
        conversation.voice.say(f"topic.dropped.{kind}", rows=rows)
        for kind, rows in kinds.items()
        if rows
    ]
    told = [
        conversation.line(
            "topic.dropped" if reasons else "topic.dropped.none",
            rows=facts.rows,
            used=facts.usable_rows,
            reasons=", ".join(reasons),
        )
    ]
    plan = conversation.situation.plan
    if plan is not None:
        held = plan.decisions.splits.validation_rows.value + plan.decisions.splits.test_rows.value
        told.append(conversation.line("topic.dropped.held", held=held))
    return conversation.answer(*told)


def _clean_rows(facts: DataFacts) -> int:
    return facts.rows - facts.blank_rows - facts.duplicate_rows - facts.malformed_rows


def judge_rows(conversation: Conversation, text: str) -> list[Line]:
    """Judge the number of rows that the message names, or that the data has."""
    facts = conversation.situation.data
    match = _COUNTED.search(fold(text))
    rows = read_number(match[1]) if match else None
    if rows is None and facts is not None:
        rows = facts.usable_rows
    goal: Goal = conversation.goal or ("classify" if facts and facts.labels else "style")
    enough, few = _ENOUGH_ROWS[goal]
    named = conversation.voice.say(f"goal.{goal}")
    rule = conversation.line("topic.rows.rule", enough=enough, few=few, goal=named)
    if rows is None:
        return conversation.answer(rule)
    verdict = "enough" if rows >= enough else "some" if rows >= few else "few"
    lines = [conversation.line(f"topic.rows.{verdict}", rows=int(rows)), rule]
    lines += _scarce_labels(conversation)
    plan = conversation.situation.plan
    if plan is not None:
        held = plan.decisions.splits.validation_rows.value + plan.decisions.splits.test_rows.value
        lines.append(conversation.line("topic.rows.measured", held=held))
    return conversation.answer(*lines)


def _scarce_labels(conversation: Conversation) -> Iterator[Line]:
    """Yield a line about the label with the fewest rows, if they are few."""
    facts = conversation.situation.data
    if facts is None or not facts.labels or conversation.goal not in (None, "classify"):
        return
    rarest = min(facts.labels, key=lambda label: label.rows)
    key = "scarce" if rarest.rows < _ROWS_PER_LABEL else "spread"
    yield conversation.line(
        f"topic.rows.{key}", label=rarest.name, rows=rarest.rows, least=_ROWS_PER_LABEL
    )
