"""The panel beside a conversation, as text for every front end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.plan.plan import Plan
from ftc.tui.dialogue import Question
from ftc.tui.draft import written
from ftc.tui.session import Session
from ftc.tui.translation import tell

_BAR: Final = 24
_MOST_FINDINGS: Final = 12
_SHOWN: Final = (
    "sharding", "precision", "max_length", "micro_batch", "accumulation", "global_batch",
    "gradient_checkpointing", "epochs", "learning_rate", "schedule", "lora_rank", "seed",
)  # fmt: skip
_MARKS: Final = {"derived": "~", "default": "\u00b7"}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The panel's blocks as text, with their titles by name, and the legend of the spec's marks."""

    titles: Mapping[str, str]
    spec: str
    memory: str
    findings: str


def make_view(session: Session) -> View:
    """Return the current panel of a session."""
    say = session.voice.say
    names = ("spec", "memory", "findings")
    spec = [*_spec(session)]
    # keep a mark and its word on one line
    legend = ", ".join(each.replace(" ", "\u00a0") for each in say("side.legend").split(", "))
    marked = [*spec, f"({legend})"] if spec else [say("side.nothing_yet")]
    return View(
        titles={name: say(f"side.{name}") for name in names},
        spec="\n".join(marked),
        memory="\n".join(_memory(session)) or say("side.no_plan_yet"),
        findings="\n".join(_findings(session)) or say("side.nothing_wrong"),
    )


def make_offers(session: Session) -> tuple[str, ...]:
    """Return the texts of the answers on offer, with consequences and ftc's suggestion."""
    step = session.step
    if not isinstance(step, Question):
        return ()
    texts = []
    for index, option in enumerate(session.options):
        consequence = session.consequence(option)
        mark = f" ({session.voice.say('suggested')})" if index == step.suggested else ""
        told = f": {consequence}" if consequence else ""
        texts.append(f"{session.label(option)}{told}{mark}")
    return tuple(texts)


def _spec(session: Session) -> Iterator[str]:
    """Yield one line per value: `=` by the user, `?` by ftc, `~` derived, a dot is a default."""
    chosen = session.draft.chosen
    for pointer, value in _leaves(written(session.draft), ""):
        own = any(each in (pointer, f"{pointer}/{each.rpartition('/')[2]}") for each in chosen)
        mark = "?" if own else "="
        yield f"{mark} {pointer[1:].replace('/', '.')}: {value}"
    plan = session.situation.plan
    if plan is None:
        return
    for name, decision in plan.decisions.items().items():
        if name in _SHOWN and decision.source in _MARKS:
            value = decision.value
            shown = str(value).lower() if isinstance(value, bool) else session.voice.show(value)
            yield f"{_MARKS[decision.source]} {name}: {shown}"


def _leaves(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{pointer}/{key}")
    elif isinstance(value, list):
        yield pointer, ", ".join(map(str, value)) or "[]"
    else:
        yield pointer, str(value).lower() if isinstance(value, bool) else str(value)


def _memory(session: Session) -> Iterator[str]:
    plan = session.situation.plan
    if plan is None:
        return
    memory, voice = plan.memory, session.voice
    if memory.capacity_bytes:
        share = memory.device_bytes / memory.capacity_bytes
        filled = min(_BAR, round(share * _BAR))
        over = "!" if not memory.fits else ""
        yield f"[{'#' * filled}{'.' * (_BAR - filled)}]{over} {share:.0%}"
        used, capacity = voice.size(memory.device_bytes), voice.size(memory.capacity_bytes)
        yield voice.say("side.used", used=used, capacity=capacity)
    data = session.situation.data
    if data is not None and data.lengths.estimate:
        yield voice.say("side.estimated")
    yield from _cost(session, plan)


def _cost(session: Session, plan: Plan) -> Iterator[str]:
    voice = session.voice
    if plan.time is not None:
        low, high = voice.duration(plan.time.low_seconds), voice.duration(plan.time.high_seconds)
        yield voice.say(
            "side.time", time=voice.duration(plan.time.total_seconds), low=low, high=high
        )
    yield voice.say("side.steps", steps=plan.decisions.total_steps.value)
    for kind, size in plan.export_bytes.items():
        yield voice.say("side.file", kind=kind, size=voice.size(size))


def _findings(session: Session) -> Iterator[str]:
    for finding in session.situation.findings[:_MOST_FINDINGS]:
        yield tell(finding, session.voice)
