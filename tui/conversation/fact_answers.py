"""Answers questions about sizes, the spec, a model's terms, the suggestion and data quality."""

from collections.abc import Iterator, Sequence
from typing import Final

from ftc.tui.conversation.advice import recommend_models
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.data_answers import judge_rows
from ftc.tui.conversation.explaining import topics
from ftc.tui.languages.translation import tell
from ftc.tui.questions.dialogue import Question
from ftc.tui.state.draft import find_differences
from ftc.tui.state.line import Line
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import UNSURE, ModelWish

_MODEL: Final = "/model/id"


def tell_disk(conversation: Conversation, text: str) -> list[Line]:
    """Say how much disk space the run and the download need."""
    del text
    plan = conversation.supposed_plan()
    if plan is None:
        return conversation.answer(conversation.tell_missing())
    size = conversation.voice.size
    told = [conversation.line("topic.disk", run=size(plan.disk_bytes))]
    if plan.download_bytes:
        told.append(conversation.line("topic.disk.download", size=size(plan.download_bytes)))
    return conversation.answer(*told)


def tell_file_size(conversation: Conversation, text: str) -> list[Line]:
    """Say how large the exported files become, and the merged model."""
    del text
    plan, model = conversation.supposed_plan(), conversation.situation.model
    if plan is None or model is None:
        return conversation.answer(conversation.tell_missing())
    shown = {"16 bit": 2 * model.parameters, **plan.export_bytes}
    sizes = ", ".join(f"{kind} {conversation.voice.size(value)}" for kind, value in shown.items())
    return conversation.answer(conversation.line("topic.file_size", sizes=sizes))


def tell_spec(conversation: Conversation, text: str) -> list[Line]:
    """Show the current spec."""
    del text
    return [Line(who="ftc", text=conversation.spec_text(), kind="spec"), *conversation.ask()]


def tell_changes(conversation: Conversation, text: str) -> list[Line]:
    """List the differences between the draft at the start and the current one."""
    del text
    start = conversation.past[0] if conversation.past else conversation.draft
    found = find_differences(start, conversation.draft)
    key = "changes" if found else "changes.none"
    told = conversation.line(key, what=conversation.compared(found, start))
    return [told, *conversation.ask()]


def tell_terms(conversation: Conversation, text: str) -> list[Line]:
    """Say whether the model is gated and, if so, how to get access."""
    del text
    facts, name = conversation.situation.model, conversation.draft.get(_MODEL)
    if facts is None or facts.gated is None:
        return conversation.answer(conversation.line("topic.gated.any"))
    key = "topic.gated" if facts.gated else "topic.gated.not"
    return conversation.answer(conversation.line(key, model=name))


def tell_suggestion(conversation: Conversation, text: str) -> list[Line]:
    """Give the reason for the suggested answer or, without one, for the question."""
    del text
    step = conversation.step
    if not isinstance(step, Question):
        return conversation.ask()
    if step.suggested is None or not step.options:
        return [conversation.line("why", why=conversation.voice.why(step.pointer))]
    option = step.options[step.suggested]
    because = conversation.consequence(option) or conversation.voice.why(step.pointer)
    reason = conversation.line("topic.reason", label=conversation.label(option), why=because)
    return conversation.answer(reason)


def judge_data(conversation: Conversation, text: str) -> list[Line]:
    """List the problems of the data, and judge the number of rows."""
    if conversation.situation.data is None:
        return conversation.answer(conversation.line("topic.data.none"))
    problems = [tell(each, conversation.voice) for each in conversation.situation.data_problems()]
    head = conversation.voice.say("look.problems" if problems else "topic.data.fine")
    told = Line(who="ftc", text="\n".join((head, *problems)))
    return [told, *judge_rows(conversation, text)]


def compare_families(conversation: Conversation, text: str) -> list[Line] | None:
    """Return the models of the families that a question compares, or None if it compares none."""
    parts = topics(text)
    makers = dict.fromkeys(_find_makers(parts)) if len(parts) > 1 else {}
    if len(makers) <= 1:
        return None
    return recommend_models(conversation, "", ModelWish(makers=tuple(makers)))


def _find_makers(parts: Sequence[str]) -> Iterator[str]:
    """Yield the maker of the model or family that each part names."""
    for part in parts:
        reading = read(part.strip(" ?.!"), {})
        values = [each.value for each in reading.changes if each.pointer == _MODEL]
        families = [each for each in reading.choices if each.pointer == _MODEL]
        values += [each.values[0] for each in families if each.values and each.why != UNSURE]
        yield from (str(value).partition("/")[0] for value in values[:1])
