"""Answers questions about licence, privacy, cost, time, rows and more with facts."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.plan.plan import Plan
from ftc.spec.findings.finding import Finding
from ftc.tui.conversation.advice import recommend_models, slow
from ftc.tui.conversation.common_answers import find_common, tell_common
from ftc.tui.conversation.common_questions import CommonQuestion
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.data_answers import (
    judge_rows,
    tell_data,
    tell_dropped,
    tell_labels,
    tell_lengths,
    tell_personal,
)
from ftc.tui.conversation.fact_answers import (
    compare_families,
    judge_data,
    tell_changes,
    tell_disk,
    tell_file_size,
    tell_spec,
    tell_suggestion,
    tell_terms,
)
from ftc.tui.conversation.goal_dialogue import answer_without_data
from ftc.tui.conversation.judgement import find_new_error
from ftc.tui.conversation.machine_figures import plan_machines
from ftc.tui.conversation.topics import Topic, find_topic
from ftc.tui.state.line import Line
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Change, Request
from ftc.tui.understanding.text.message import Message, fold
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.sentences import asks_what
from ftc.tui.understanding.values.quantities import read_prices

#: What a licence allows, by the beginning of its identifier; the first match counts.
_LICENCES: Final[Mapping[str, str]] = {
    "apache": "free", "mit": "free", "bsd": "free", "llama": "llama", "gemma": "gemma",
    "cc-by-nc": "research", "qwen-research": "research", "mrl": "research",
    "cc-by-sa": "share_alike", "cc-by": "free",
}  # fmt: skip
_MOST_PARTS: Final = 3
_WATTS: Final = 100  # for which the energy is given: the table of GPUs has no power
_AMOUNT: Final = r"\d+(?:[.,]\d+)?"
#: An electricity price: "0.30 euro per kWh", "if a kWh is 0.30".
_PER_KWH: Final = re.compile(
    rf"(?P<before>{_AMOUNT})\W{{0,2}}[a-z]*\W{{0,2}}(?:per|a|an|the|el|per cada|por|/)\W{{0,2}}kwh"
    rf"|\bkwh\b\D{{0,25}}(?P<after>{_AMOUNT})"
)
_OBJECTIVE: Final = "/objective/type"
#: The context length in tokens for which the size of the KV cache is given.
_CACHED_TOKENS: Final = 4096
#: Topics of questions that name no value that the planner can compare.
_WITHOUT_VALUES: Final = frozenset({"cost", "memory", "models", "slow", "time"})
#: The topic whose patterns match the whole message, so that no other question is more likely.
_WHOLE: Final = "reason"
#: Requests for which a question about a topic can be mistaken.
_ASIDES: Final = frozenset({"explain", "judge", "later", "plan", "what_if"})

Answer = Callable[[Conversation, str], list[Line]]
PlanTeller = Callable[[Conversation, Plan | None], list[Line]]


def answer_question(
    conversation: Conversation, text: str, request: Request | None
) -> list[Line] | None:
    """Return the answer to a question about a topic, followed by the open question.

    The result is None if the message has another request, has neither a topic nor a common
    question, or has a value that the planner can compare.
    """
    if request is not None and request.kind not in _ASIDES:
        return None
    topic = None if request is not None and request.kind == "later" else find_topic(text)
    if topic in (None, "models") and (compared := compare_families(conversation, text)):
        return compared
    question = None if topic == _WHOLE else find_common(conversation, text, request, topic)
    if question is not None:
        return _answer_common(conversation, text, question)
    if topic is None:
        return None
    about = request.about if request is not None else ""
    needs_none = topic in _WITHOUT_VALUES or (request is not None and request.kind == "what_if")
    if needs_none and about and read(about, conversation.draft.data).changes:
        return None
    return _ANSWERS[topic](conversation, text)


def _answer_common(conversation: Conversation, text: str, question: CommonQuestion) -> list[Line]:
    told = tell_common(conversation, question)
    if question.topic is None:
        return conversation.answer(*told)
    return [*told, *_ANSWERS[question.topic](conversation, text)]


def _licence(conversation: Conversation, text: str) -> list[Line]:
    del text
    name = conversation.draft.get("/model/id")
    known = find_model(str(name)) if name else None
    facts = conversation.situation.model
    licence = facts.licence if facts is not None else known.licence if known else None
    if name is None:
        return conversation.answer(conversation.line("topic.licence.any"))
    if licence is None:
        return conversation.answer(conversation.line("topic.licence.unknown", model=name))
    kinds = (kind for start, kind in _LICENCES.items() if licence.casefold().startswith(start))
    kind = next(kinds, "other")
    allowed = conversation.voice.say(f"licence.{kind}")
    return conversation.answer(
        conversation.line("topic.licence", model=name, licence=licence, allowed=allowed),
    )


def _privacy(conversation: Conversation, text: str) -> list[Line]:
    del text
    tracking = conversation.draft.get("/tracking/type")
    lines = [conversation.line("topic.privacy")]
    if tracking not in (None, "none", "tensorboard"):
        lines.append(conversation.line("topic.privacy.tracking", service=tracking))
    return conversation.answer(*lines)


def _cost(conversation: Conversation, text: str) -> list[Line]:
    prices = tuple(read_prices(Message(text)))  # "at $2 an hour": used here, but not set
    return _tell_planned(conversation, text, _cost_told, prices)


def _cost_told(conversation: Conversation, plan: Plan | None) -> list[Line]:
    voice = conversation.voice
    if plan is None or plan.time is None:
        return [conversation.line("topic.cost.any")]
    if plan.cost is None:
        time = voice.duration(plan.time.total_seconds)
        count = plan.decisions.distribution.world.value
        line = conversation.line("topic.cost.no_price", time=time, count=count)
        return [*_time_told(conversation, plan), line]
    money = {key: round(getattr(plan.cost, key), 2) for key in ("total", "low", "high")}
    return [conversation.line("topic.cost", **money)]


def _energy(conversation: Conversation, text: str) -> list[Line]:
    """Say what the plan's hours take per 100 W, and what they cost at a price per kWh."""
    plan, voice = conversation.supposed_plan(), conversation.voice
    if plan is None or plan.time is None:
        return conversation.answer(conversation.line("topic.energy.any"))
    time, count = plan.time.total_seconds, plan.decisions.distribution.world.value
    used = time / 3600 * _WATTS / 1000
    told = [
        conversation.line(
            "topic.energy", time=voice.duration(time), count=count, kwh=voice.show(_round(used))
        )
    ]
    found = _PER_KWH.search(fold(text))
    price = None if found is None else read_number(found["before"] or found["after"])
    if price is not None:
        cost = voice.show(_round(used * price))
        told.append(conversation.line("topic.energy.price", price=voice.show(price), cost=cost))
    return conversation.answer(*told)


def _round(value: float) -> float:
    """Return a number with two significant digits."""
    return float(f"{value:.2g}")


def _time(conversation: Conversation, text: str) -> list[Line]:
    return _tell_planned(conversation, text, _time_told)


def _time_told(conversation: Conversation, plan: Plan | None) -> list[Line]:
    if plan is None or plan.time is None:
        return [conversation.tell_missing()]
    span = conversation.voice.duration
    return [
        conversation.line(
            "topic.time",
            time=span(plan.time.total_seconds),
            low=span(plan.time.low_seconds),
            high=span(plan.time.high_seconds),
            training=span(plan.time.training_seconds),
            steps=plan.decisions.training.total_steps.value,
        )
    ]


def _tell_planned(
    conversation: Conversation, text: str, tell_plan: PlanTeller, prices: tuple[Change, ...] = ()
) -> list[Line]:
    """Answer with the figures of the plan, on each machine that the question names."""
    told = [
        line
        for machine, plan in plan_machines(conversation, text, prices)
        for line in (*machine, *tell_plan(conversation, plan))
    ]
    return conversation.answer(*told)


def _memory(conversation: Conversation, text: str) -> list[Line]:
    return _tell_planned(conversation, text, _memory_told)


def _memory_told(conversation: Conversation, plan: Plan | None) -> list[Line]:
    if plan is None:
        return [conversation.tell_missing()]
    size = conversation.voice.size
    parts = plan.memory.parts.get(plan.memory.largest_phase, {})
    largest = sorted(parts.items(), key=lambda part: -part[1])[:_MOST_PARTS]
    named = ", ".join(
        f"{conversation.voice.say(f'part.{name}')} {size(value)}" for name, value in largest
    )
    peak = size(plan.memory.device_bytes)
    outlook = conversation.outlook(plan)
    return [conversation.line("topic.memory", peak=peak, parts=named, plan=outlook)]


def _overfitting(conversation: Conversation, text: str) -> list[Line]:
    del text
    plan = conversation.situation.plan
    lines = [conversation.line("topic.overfitting")]
    if plan is not None:
        decided = plan.decisions
        key = "stops" if decided.training.patience.value is not None else "goes_on"
        lines.append(
            conversation.line(
                f"topic.overfitting.{key}",
                epochs=decided.training.epochs.value,
                validation=decided.splits.validation_rows.value,
                steps=decided.training.eval_steps.value,
                patience=decided.training.patience.value or 0,
            )
        )
    return conversation.answer(*lines)


def _resume(conversation: Conversation, text: str) -> list[Line]:
    """Say what an interrupted run loses, and how to resume it."""
    del text
    plan = conversation.situation.plan
    lines = [conversation.line("topic.resume")]
    if plan is not None:
        lines.append(
            conversation.line("topic.resume.steps", steps=plan.decisions.training.save_steps.value)
        )
    return conversation.answer(*lines)


def _next(conversation: Conversation, text: str) -> list[Line]:
    del text
    return conversation.answer(conversation.line("topic.next"))


def _small_device(conversation: Conversation, text: str) -> list[Line]:
    """Say how much memory a device needs to run the result."""
    del text
    plan, types = conversation.situation.plan, conversation.draft.get("/export/types")
    lines = [conversation.line("topic.small_device")]
    sizes = plan.export_bytes if plan is not None else {}
    if known := {kind: sizes[kind] for kind in types or () if kind in sizes}:
        smallest = min(known, key=lambda kind: known[kind])
        size = conversation.voice.size(known[smallest])
        lines.append(conversation.line("topic.small_device.size", type=smallest, size=size))
    return conversation.answer(*lines)


def _inference(conversation: Conversation, text: str) -> list[Line]:
    """Say how much memory inference with the result needs."""
    del text
    model, plan = conversation.situation.model, conversation.situation.plan
    if model is None or model.shape is None:
        return conversation.answer(conversation.line("topic.inference.any"))
    shown = {"16 bit": 2 * model.parameters, **(plan.export_bytes if plan is not None else {})}
    sizes = ", ".join(f"{kind} {conversation.voice.size(value)}" for kind, value in shown.items())
    cache = 2 * model.shape.cached_numbers() * _CACHED_TOKENS
    return conversation.answer(
        conversation.line(
            "topic.inference",
            sizes=sizes,
            cache=conversation.voice.size(cache),
            tokens=_CACHED_TOKENS,
        )
    )


def _diverged(conversation: Conversation, text: str) -> list[Line]:
    """Say why a loss diverges or does not fall, and which setting to change."""
    del text
    plan = conversation.situation.plan
    lines = [conversation.line("topic.diverged")]
    if plan is not None:
        rate, precision = (
            plan.decisions.training.learning_rate.value,
            plan.decisions.compute.precision.value,
        )
        lines.append(
            conversation.line(
                f"topic.diverged.{'fp16' if precision == 'fp16' else 'rate'}",
                rate=conversation.voice.show(rate),
                lower=conversation.voice.show(as_written(rate / 2)),
            )
        )
    return conversation.answer(*lines)


def _ollama(conversation: Conversation, text: str) -> list[Line]:
    """Say how to use the result in Ollama, propose the changes it needs, or say why it cannot."""
    name = conversation.draft.get("/model/id")
    model = find_model(str(name)) if name else None
    if model is not None and not model.convertible:
        return conversation.answer(conversation.line("topic.ollama.never", model=name))
    types = conversation.draft.get("/export/types")
    if types:
        run = conversation.draft.get("/name") or "my-model"
        key = "topic.ollama" if "ollama" in fold(text) else "topic.gguf_program"
        line = conversation.line(key, types=", ".join(types), type=types[0], name=run)
        if not asks_what(text):
            line = conversation.line("topic.yes", answer=line.text)
        return conversation.answer(line)
    change = Change(pointer="/export/types", value=["Q4_K_M"], words="Q4_K_M")
    wrong = _find_error_with(conversation, (change,))
    if wrong is None:
        return _propose(conversation, conversation.line("topic.ollama.needs"), (change,))
    refusal = conversation.line(
        "judge.wrong", what=conversation.listed((change,)), why=conversation.told(wrong)
    )
    as_text = (Change(pointer=_OBJECTIVE, value="sft", words="sft"), change)
    is_classifier = conversation.draft.get(_OBJECTIVE) == "classification"
    if not is_classifier or _find_error_with(conversation, as_text) is not None:
        return conversation.answer(refusal)
    offered = conversation.line("topic.ollama.as_text")
    return [refusal, *_propose(conversation, offered, as_text)]


def _find_error_with(conversation: Conversation, changes: tuple[Change, ...]) -> Finding | None:
    """Return the first error that changes to the draft would cause."""
    tried = conversation.draft.changed(changes)
    other = conversation.observer.look(tried, offers=False)
    return find_new_error(conversation.situation, other)


def _propose(conversation: Conversation, told: Line, changes: tuple[Change, ...]) -> list[Line]:
    """Return a line, and ask whether to apply the changes that it proposes."""
    conversation.proposal = changes
    what = conversation.compared(changes)
    return [told, conversation.line("judge.take", "proposal", what=what)]


def _models(conversation: Conversation, text: str) -> list[Line]:
    """Ask for the model, and offer models that suit the goal."""
    if conversation.goal is None and ("label" in fold(text) or "etiquet" in fold(text)):
        conversation.draft = replace(conversation.draft, goal="classify")
    return recommend_models(conversation, text)


def _no_data(conversation: Conversation, text: str) -> list[Line]:
    return answer_without_data(conversation, text)


def _slow(conversation: Conversation, text: str) -> list[Line]:
    return slow(conversation, text)


_ANSWERS: Final[Mapping[Topic, Answer]] = {
    "no_data": _no_data,
    "gated": tell_terms,
    "reason": tell_suggestion,
    "quality": judge_data,
    "disk": tell_disk,
    "file_size": tell_file_size,
    "spec": tell_spec,
    "changes": tell_changes,
    "licence": _licence,
    "personal": tell_personal,
    "privacy": _privacy,
    "energy": _energy,
    "slow": _slow,
    "overfitting": _overfitting,
    "resume": _resume,
    "next": _next,
    "dropped": tell_dropped,
    "rows": judge_rows,
    "labels": tell_labels,
    "lengths": tell_lengths,
    "data": tell_data,
    "inference": _inference,
    "small_device": _small_device,
    "diverged": _diverged,
    "ollama": _ollama,
    "cost": _cost,
    "memory": _memory,
    "time": _time,
    "models": _models,
}
