"""Advice: the result of another choice, what would fit, and what would cost less."""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, Final

from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.plan.plan import Plan
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.machine_figures import tell_supposed
from ftc.tui.questions.choices import meets_all, offer
from ftc.tui.questions.dialogue import Option, Question
from ftc.tui.state.limits import is_over, tell_limit
from ftc.tui.state.line import Line
from ftc.tui.understanding.fields.removed import read_removed
from ftc.tui.understanding.machines.hardware import read_hardware
from ftc.tui.understanding.machines.limits import read_limit
from ftc.tui.understanding.machines.supposed import AMOUNT
from ftc.tui.understanding.models.model_wishes import read_model_wishes
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Change, Choice, Limit, ModelWish
from ftc.tui.understanding.text.lexicon import NEGATORS
from ftc.tui.understanding.text.message import Message, fold
from ftc.tui.understanding.text.numbers import read_number

_GIBI: Final = 1024**3
_MOST_OFFERS: Final = 4
#: Words of a verb before a supposed value: "ho fem amb".
_MOST_VERBS: Final = 4
_HARDLY_LONGER: Final = 1.1
_QUICKER: Final = 0.9
_ANY_MODEL: Final = ModelWish()
_PRICE: Final = "/hardware/price_per_hour"


def what_if(conversation: Conversation, about: str) -> list[Line]:
    """Plan the draft with other values, show both plans, and offer to change them."""
    changes = _suppose(about, conversation.draft.data)
    if not changes and (told := tell_supposed(conversation, about)):
        return conversation.answer(*told)
    if not changes:
        return [conversation.line("not_understood", text=about), *conversation.ask()]
    now = conversation.situation.plan
    if now is not None and all(conversation.draft.get(one.pointer) == one.value for one in changes):
        return conversation.answer(conversation.line("judge.same", plan=conversation.outlook(now)))
    plan = conversation.observer.look(conversation.draft.changed(changes), offers=False).plan
    if plan is None:
        return [conversation.tell_missing(), *conversation.ask()]
    lines = []
    if now is not None:
        lines.append(conversation.line("now", plan=conversation.outlook(now)))
    conversation.proposal = changes
    what = conversation.listed(changes)
    lines.append(conversation.line("with_it", what=what, plan=conversation.outlook(plan)))
    return [
        *lines,
        conversation.line(
            "proposal", "proposal", what=conversation.compared(conversation.proposal)
        ),
    ]


def _suppose(about: str, draft: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the changes that a supposition names: "(i si) poso 5 èpoques" is "5 èpoques".

    The leading verb may have any person and mood. A negated verb is kept.
    """
    words = about.split()
    for start in range(min(_MOST_VERBS, len(words))):
        if NEGATORS.search(fold(" ".join(words[:start]))):
            break
        if changes := read(" ".join(words[start:]), draft).changes:
            return changes
    return ()


def fit(conversation: Conversation, about: str) -> list[Line]:
    """Offer changes that bring the peak below a given size, or below the GPU's memory."""
    plan = conversation.situation.plan
    if plan is None:
        return [conversation.tell_missing(), *conversation.ask()]
    amount = AMOUNT.search(fold(about))
    number = read_number(amount[1]) if amount else None
    if number is None and about:
        return what_if(conversation, about)
    budget = plan.memory.capacity_bytes if number is None else int(number * _GIBI)
    if budget is None:
        return [conversation.tell_missing(), *conversation.ask()]
    if plan.memory.device_bytes <= budget:
        peak = conversation.voice.size(plan.memory.device_bytes)
        return [conversation.line("fits_already", peak=peak), *conversation.ask()]
    found = [
        option
        for option in _planned(conversation, _smaller(conversation, plan))
        if option.plan is not None and option.plan.memory.device_bytes <= budget
    ]
    told = tell_supposed(conversation, about)
    return [*told, *_offer(conversation, found, "would_fit")]


def cheaper(conversation: Conversation, about: str) -> list[Line]:
    """Offer changes that take less time or memory than the current plan."""
    del about
    plan = conversation.situation.plan
    if plan is None:
        return [conversation.tell_missing(), *conversation.ask()]
    found = [
        option
        for option in _planned(conversation, (*_quicker(plan), *_smaller(conversation, plan)))
        if option.plan is not None and _costs_less(option.plan, plan)
    ]
    return _offer(conversation, found, "would_cost_less")


def lighter(conversation: Conversation, about: str) -> list[Line]:
    """Offer changes that need less memory than the current plan, the smallest need first."""
    del about
    plan = conversation.situation.plan
    if plan is None:
        return [conversation.tell_missing(), *conversation.ask()]
    now, size = plan.memory.device_bytes, conversation.voice.size
    edits = (*_smaller(conversation, plan), *_smaller_models(conversation))
    needs = [
        (option.plan.memory.device_bytes, option)
        for option in _planned(conversation, edits)
        if option.plan is not None and option.plan.memory.device_bytes < now
    ]
    needs.sort(key=lambda each: each[0])
    told = conversation.line("peak_now", peak=size(now))
    return [told, *_offer(conversation, [option for _, option in needs], "would_need_less")]


def recommend_models(
    conversation: Conversation, about: str, wish: ModelWish = _ANY_MODEL
) -> list[Line]:
    """Ask for the model, and offer models that suit the goal, the data and the hardware.

    `wish` applies to this answer only, and so do the machine and the languages that the question
    `about` names.
    """
    asked = Question(pointer="/model/id", optional=conversation.draft.has("/model/id"))
    message = Message(about)
    machine = [
        each for each in read_hardware(message, conversation.draft.data) if isinstance(each, Change)
    ]
    wishes = (
        each.wish
        for each in read_model_wishes(message, conversation.draft.data)
        if isinstance(each, Choice) and each.wish is not None
    )
    draft = conversation.draft.changed(tuple(machine))
    found = offer(
        asked,
        draft,
        conversation.observer.look(draft, offers=False) if machine else conversation.situation,
        conversation.observer,
        goal=conversation.goal,
        model_wish=reduce(ModelWish.joined, wishes, conversation.model_wish.joined(wish)),
    )
    suits = any(map(meets_all, found.options))
    if not suits and isinstance(conversation.step, Question) and conversation.step.trouble:
        return conversation.ask()  # the open error may be why no model suits
    told = conversation.line("models" if suits else "no_models")
    if not found.options:
        return [told, *conversation.ask()]
    conversation.step, conversation.tabled = found, ()
    return [told, *(conversation.ask() or conversation.table())]


def slow(conversation: Conversation, about: str) -> list[Line]:
    """Say what takes the time, and offer faster options, the fastest first."""
    del about
    plan = conversation.situation.plan
    if plan is None or plan.time is None:
        return [conversation.line("slow.no_plan"), *conversation.ask()]
    voice = conversation.voice
    machine = conversation.situation.hardware
    on_cpu = machine is not None and machine.kind == "cpu"
    told = conversation.line(
        "slow.cpu" if on_cpu else "slow.gpu",
        time=voice.duration(plan.time.total_seconds),
        training=voice.duration(plan.time.training_seconds),
        rows=plan.decisions.splits.train_rows.value,
        epochs=plan.decisions.training.epochs.value,
    )
    edits = (*_other_machines(plan, on_cpu=on_cpu), *_quicker(plan), *_smaller_models(conversation))
    found = [each for each in _planned(conversation, edits) if _is_quicker(each.plan, plan)]
    found.sort(key=lambda each: each.plan.time_seconds or 0.0 if each.plan else 0.0)
    return [told, *_offer(conversation, found, "would_be_quicker")]


def limit(conversation: Conversation, about: str) -> list[Line]:
    """Store a limit on time or cost, compare the plan with it, and offer options within it."""
    found = read_limit(Message(about))
    if found is not None:
        conversation.limit = conversation.limit.joined(found[0])
    plan = conversation.situation.plan
    told = [*tell_limit(conversation.limit, plan, conversation.voice)]
    asks_price = conversation.limit.money is not None and plan is not None and plan.cost is None
    if asks_price and plan is not None and plan.time is not None:
        conversation.step = Question(pointer=_PRICE)
        question = f"{conversation.voice.ask(_PRICE)}\n{conversation.voice.why(_PRICE)}"
        return [*told, Line(who="ftc", text=question, kind="question")]
    if plan is None or not is_over(conversation.limit, plan):
        return [*told, *conversation.ask()]
    on_cpu = conversation.situation.hardware is not None and (
        conversation.situation.hardware.kind == "cpu"
    )
    edits = (*_other_machines(plan, on_cpu=on_cpu), *_quicker(plan), *_smaller_models(conversation))
    tried = [each for each in _planned(conversation, edits) if _is_quicker(each.plan, plan)]
    below = [each for each in tried if each.plan and not is_over(conversation.limit, each.plan)]
    chosen = below or tried
    chosen.sort(key=lambda each: each.plan.time_seconds or 0.0 if each.plan else 0.0)
    return [*told, *_offer(conversation, chosen, "limit.below" if below else "limit.nearer")]


def unlimit(conversation: Conversation, about: str) -> list[Line]:
    """Drop the limits on time and cost, and the limits of the draft that the words name."""
    removed = tuple(read_removed(Message(about), conversation.draft.data))
    had, conversation.limit = conversation.limit, conversation.limit if removed else Limit()
    if removed:
        return conversation.apply(removed)
    key = "limit.none" if had == Limit() else "limit.dropped"
    return [conversation.line(key), *conversation.ask()]


def _is_quicker(other: Plan | None, plan: Plan) -> bool:
    if other is None or other.time_seconds is None or plan.time_seconds is None:
        return False
    return other.memory.fits is not False and other.time_seconds < plan.time_seconds * _QUICKER


def _other_machines(plan: Plan, *, on_cpu: bool) -> Iterator[tuple[Change, ...]]:
    """Yield changes to a GPU instead of the CPU, or to twice as many GPUs."""
    if on_cpu:
        yield (_set("/hardware/gpu", value="RTX-4090"),)
    else:
        yield (_set("/hardware/count", value=2 * plan.decisions.distribution.world.value),)


def _smaller_models(conversation: Conversation) -> Iterator[tuple[Change, ...]]:
    """Yield the models of the shortlist that are smaller than the current one."""
    now = conversation.situation.model
    asked = Question(pointer="/model/id")
    found = conversation.offer(asked)
    for option in found.options:
        model = find_model(option.label)
        if now is not None and model is not None and model.shape.parameters < now.parameters:
            yield option.changes


def _costs_less(other: Plan, plan: Plan) -> bool:
    if plan.time_seconds is None or other.time_seconds is None or not other.memory.fits:
        return False
    if other.time_seconds < plan.time_seconds:
        return True
    hardly_longer = other.time_seconds <= plan.time_seconds * _HARDLY_LONGER
    return hardly_longer and other.memory.device_bytes < plan.memory.device_bytes


def _smaller(conversation: Conversation, plan: Plan) -> tuple[tuple[Change, ...], ...]:
    """Return changes that reduce memory, single and combined.

    Changes that do not affect the result come first. The maximum length is halved only if very few
    rows are longer.
    """
    recompute = _set("/training/gradient_checkpointing", value=True)
    one = _set("/training/micro_batch", value=1)
    quantize = _set("/method/type", value="qlora")
    half = plan.decisions.rows.max_length.value // 2
    shorter = _set("/data/max_length", value=half)
    data = conversation.situation.data
    cut = ((quantize, recompute, one, shorter),) if data and data.lengths.p99 <= half else ()
    return (
        (recompute,),
        (recompute, one),
        (quantize,),
        (quantize, recompute),
        (quantize, recompute, one),
        *cut,
    )


def _quicker(plan: Plan) -> Iterator[tuple[Change, ...]]:
    """Yield changes that reduce the time."""
    epochs = plan.decisions.training.epochs.value
    if epochs > 1:
        yield (_set("/training/epochs", value=int(epochs) - 1 if epochs > 1 else 1),)
    yield (_set("/method/type", value="lora"),)
    yield (_set("/training/gradient_checkpointing", value=False),)


def _set(pointer: str, *, value: object) -> Change:
    return Change(pointer=pointer, value=value, words="")


def _planned(conversation: Conversation, edits: Iterable[tuple[Change, ...]]) -> Iterator[Option]:
    """Yield each edit that has an effect and causes no error, as an option with its plan."""
    known = {finding.code for finding in conversation.situation.findings}
    for changes in edits:
        if all(conversation.draft.get(change.pointer) == change.value for change in changes):
            continue
        after = conversation.observer.look(conversation.draft.changed(changes), offers=False)
        if {each.code for each in after.findings if each.severity == "error"} - known:
            continue
        yield Option(label=conversation.listed(changes), changes=changes, plan=after.plan)


def _offer(conversation: Conversation, found: list[Option], key: str) -> list[Line]:
    """Ask which of the changes to make."""
    if not found:
        return [conversation.line("nothing_would"), *conversation.ask()]
    conversation.step = Question(
        pointer="/training", options=tuple(found[:_MOST_OFFERS]), optional=True
    )
    line = conversation.line(key)
    return [Line(who="ftc", text=line.text, kind="question")]
