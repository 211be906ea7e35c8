"""The panel beside a conversation and the offered answers, for every front end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.translated_reasons import sentence_in
from ftc.spec.findings.finding import Finding, Severity
from ftc.tui.conversation.repair import ORDER
from ftc.tui.languages.field_names import find_asked, name_decision, name_field
from ftc.tui.languages.translation import tell
from ftc.tui.questions.dialogue import Question, find_repair
from ftc.tui.session.gauge import Gauge, make_gauge
from ftc.tui.session.session import Session
from ftc.tui.state.draft import list_values

Source = Literal["said", "chosen", "derived", "default"]

_MOST_FINDINGS: Final = 12
_SHOWN: Final = (
    "sharding", "precision", "quantization", "max_length", "packing", "micro_batch",
    "accumulation", "global_batch", "gradient_checkpointing", "epochs", "total_steps",
    "learning_rate", "optimizer", "schedule", "warmup_steps", "lora_rank", "lora_alpha",
    "train_rows", "validation_rows", "test_rows", "eval_steps", "metric", "seed",
)  # fmt: skip
MARKS: Final[Mapping[Source, str]] = {
    "said": "=",
    "chosen": "?",
    "derived": "~",
    "default": "\u00b7",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """A value of the spec or the plan: its raw key, its name in the user's language, the reason."""

    source: Source
    key: str
    name: str
    value: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """A finding as one line; `is_fixable` means that a key press repairs it."""

    code: str
    severity: Severity
    text: str
    is_fixable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The panel's blocks, with their titles by name.

    `memory` is the text below the bars of the `gauge`. Empty rows mean that there are no values or
    no problems.
    """

    titles: Mapping[str, str]
    rows: tuple[PlanRow, ...]
    legend: str
    gauge: Gauge | None
    memory: str
    findings: tuple[FindingRow, ...]


def make_view(session: Session) -> View:
    """Return the current panel of a session."""
    say, plan = session.voice.say, session.situation.plan
    names = ("spec", "memory", "findings")
    rows = (*_said(session), *_decided(session))
    found = sorted(session.situation.findings, key=lambda each: ORDER.index(each.severity))
    return View(
        titles={name: say(f"side.{name}") for name in names},
        rows=rows,
        # keep a mark and its word on one line
        legend=", ".join(each.replace(" ", "\u00a0") for each in say("side.legend").split(", ")),
        gauge=None if plan is None else make_gauge(plan.memory),
        memory="\n".join(_memory(session)) or say("side.no_plan_yet"),
        findings=tuple(_row(each, session) for each in found[:_MOST_FINDINGS]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An offered answer: its text, and the message that chooses it."""

    text: str
    says: str


def make_offers(session: Session) -> tuple[str, ...]:
    """Return the texts of the offered answers, with consequences and ftc's suggestion."""
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


def make_buttons(session: Session) -> tuple[Offer, ...]:
    """Return the entries of a list: the answers by number, or yes and no for a proposal."""
    if session.awaits_yes:
        words = (session.voice.say(f"reply.{word}") for word in ("yes", "no"))
        return tuple(Offer(text=word, says=word) for word in words)
    texts = make_offers(session)
    return tuple(Offer(text=text, says=str(n)) for n, text in enumerate(texts, start=1))


def _said(session: Session) -> Iterator[PlanRow]:
    """Yield the values of the spec; values that ftc chose for the user are marked."""
    chosen = session.draft.chosen
    for pointer, value in list_values(session.draft):
        own = any(each in (pointer, f"{pointer}/{each.rpartition('/')[2]}") for each in chosen)
        source: Source = "chosen" if own else "said"
        asked = find_asked(pointer)
        yield PlanRow(
            source=source,
            key=pointer[1:].replace("/", "."),
            name=name_field(asked, session.voice.language),
            value=value,
            why=f"{session.voice.say(f'row.{source}')} {session.voice.why(asked)}",
        )


def _decided(session: Session) -> Iterator[PlanRow]:
    """Yield the decisions of the plan that are not in the spec."""
    plan, voice = session.situation.plan, session.voice
    decided = {} if plan is None else plan.decisions.items()
    for name in _SHOWN:
        decision = decided.get(name)
        if decision is None or decision.source == "spec" or decision.value is None:
            continue
        value = decision.value
        yield PlanRow(
            source="derived" if decision.source == "derived" else "default",
            key=name,
            name=name_decision(name, voice.language),
            value=str(value).lower() if isinstance(value, bool) else voice.show(value),
            why=voice.say("row.because", why=sentence_in(voice.language, decision.because)),
        )


def _memory(session: Session) -> Iterator[str]:
    plan = session.situation.plan
    if plan is None:
        return
    memory, voice = plan.memory, session.voice
    if memory.capacity_bytes:
        share = memory.device_bytes / memory.capacity_bytes
        sizes = {
            "used": voice.size(memory.device_bytes),
            "capacity": voice.size(memory.capacity_bytes),
        }
        key = "side.used" if memory.fits else "side.too_much"
        mark = "\u2713" if memory.fits else "\u2717"
        yield f"{mark} {share:.0%}: {voice.say(key, **sizes)}"
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
    yield voice.say("side.steps", steps=plan.decisions.training.total_steps.value)
    for kind, size in plan.export_bytes.items():
        yield voice.say("side.file", kind=kind, size=voice.size(size))


def _row(finding: Finding, session: Session) -> FindingRow:
    return FindingRow(
        code=finding.code,
        severity=finding.severity,
        text=tell(finding, session.voice),
        is_fixable=find_repair(finding) is not None,
    )
