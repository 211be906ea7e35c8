"""Applies the fix of a finding, on request by a key, a button or a message."""

from dataclasses import replace
from typing import Final

from ftc.spec.findings.finding import Finding, Severity
from ftc.tui.conversation.card import make_card
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.questions.dialogue import Question, find_repair, find_ways
from ftc.tui.state.line import Line
from ftc.tui.understanding.reading import Reading

#: The findings in the order in which they are shown and fixed.
ORDER: Final[tuple[Severity, ...]] = ("error", "warning", "info")


def find_fixable(conversation: Conversation, code: str | None) -> Finding | None:
    """Return a finding with a fix: the one with this code, by default the most severe."""
    found = sorted(conversation.situation.findings, key=lambda each: ORDER.index(each.severity))
    fixable = (each for each in found if code in (None, each.code))
    return next((each for each in fixable if find_repair(each) is not None), None)


def repair(conversation: Conversation, code: str | None) -> list[Line]:
    """Apply a fix and show it on the card; an unsafe fix is only proposed."""
    finding = find_fixable(conversation, code)
    option = None if finding is None else find_repair(finding)
    if finding is None or option is None:
        return [conversation.line("fix.none"), *conversation.ask()]
    if ways := find_ways(finding):
        asked = Question(pointer=finding.pointer, options=ways, trouble=finding)
        conversation.step = conversation.offer(asked)
        return conversation.ask()
    if finding.fix_safety == "unsafe":
        conversation.proposal = option.changes
        what = conversation.compared(option.changes)
        return [conversation.line("fix.unsafe", "proposal", what=what)]
    card = make_card(Reading(changes=option.changes), conversation.draft, ())
    lines = conversation.apply(option.changes)
    return [replace(line, card=card) if line.kind == "noted" else line for line in lines]
