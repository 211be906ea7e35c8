"""The models of the table that fit a task: hardware, method and hours, languages, licence, GGUF."""

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from msgspec import convert

from ftc.compiler.checks.registry import run_checks
from ftc.compiler.knowledge.objectives import OBJECTIVES, Head, compares_texts
from ftc.compiler.knowledge.well_known.models import KINDS, Model, all_models, shape_for
from ftc.compiler.plan.batch.sizes import least_rows
from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import plan_once
from ftc.compiler.plan.summary.workable import works
from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import DataFacts, Facts, HardwareFacts, KnownFacts, Unknown
from ftc.compiler.resolve.model.facts import facts_from_table
from ftc.compiler.resolve.tokenizer.facts import assume_tokenizer
from ftc.spec.sections import Spec

MethodType = Literal["lora", "qlora", "full"]
#: Methods in the order in which they are tried: the first that fits is taken.
METHODS: Final[tuple[MethodType, ...]] = ("lora", "qlora")
_ALL_METHODS: Final[tuple[MethodType, ...]] = ("full", *METHODS)
_LENGTH_STEP: Final = 256  # tokens
_MOST: Final = 4
FREE_LICENCES: Final = frozenset({"apache-2.0", "mit"})
_LONGEST_SECONDS: Final = 24 * 3600
#: The share of a device's memory that the plan of a suggested model leaves free: for longer rows,
#: and for what else uses the device.
ROOM: Final = 0.1
#: In parameters. Larger models hardly put texts into labels better.
MOST_FOR_LABELS: Final = 4_500_000_000
_LARGEST_UNKNOWN: Final = 35 * 10**9  # parameters that QLoRA trains on a GPU of 48 GB
#: Families with the newest models of their makers in the table; older ones come after them.
_RECENT: Final = (
    "Qwen3", "gemma-3", "Llama-3", "SmolLM3", "granite-3.3", "phi-4", "Phi-4", "OLMo-2",
    "Mistral-7B-Instruct-v0.3", "Mistral-Small-24B", "salamandra", "EuroLLM", "Falcon3", "SmolLM2",
)  # fmt: skip

Reason = Literal["largest", "another_maker", "quickest", "free_licence"]
Lack = Literal["objective", "languages", "context", "licence", "gguf", "16_bit_weights", "memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model with what it would take: `method` is the first that fits, None if none does.

    `lacks` lists the requirements that the model does not meet. `plan` is that of `method` or of
    the last method tried; None without hardware.
    """

    model: Model
    method: MethodType | None
    plan: Plan | None
    lacks: tuple[Lack, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequirements:
    """Requirements for a model; None means no requirement.

    `languages` are ISO 639-1 codes, `context_tokens` what rows need; `methods` are tried in order.
    `allowed` are the ids of the models that the shortlist may have. `most_parameters` is set for
    tasks that small models do as well; for `labels` the shortlist also begins with the quickest.
    """

    spec: Spec
    data: DataFacts
    hardware: HardwareFacts | None
    languages: tuple[str, ...] = ()
    context_tokens: int | None = None
    licence: str | None = None
    gguf: bool = False
    methods: tuple[MethodType, ...] = METHODS
    most_parameters: int | None = None
    labels: bool = False
    allowed: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """A candidate of the shortlist and why it is there.

    `larger` is the smallest model that is larger than the largest and lacks nothing but memory.
    """

    candidate: Candidate
    reason: Reason
    larger: Candidate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """What one method takes for a model and the rows of the wish, and the longest rows that fit.

    `plan` has the fastest layout that fits, `least_bytes` is what the smallest takes per device.
    `longest_tokens` is a multiple of 256 up to the model's context, 0 where no rows fit: the length
    at which a data set of rows of that one length still trains.
    """

    method: MethodType
    plan: Plan
    fits: bool
    least_bytes: int
    longest_tokens: int


def count_rows_for(wish: ModelRequirements, model: Model, folder: Path) -> ModelRequirements:
    """Return the wish with its rows in the model's tokens, as `ftc plan` estimates them.

    The paths of the wish's spec are relative to `folder`. No file of the model is read.
    """
    facts = facts_from_table(model, model.id, head=_head(wish))
    spec = replace(wish.spec, model=replace(wish.spec.model, id=model.id))
    tokenizer = assume_tokenizer(facts)
    rows = resolve_data(spec, folder=folder, tokenizer=tokenizer, model=facts)
    if isinstance(rows, Unknown):
        return wish
    return replace(wish, data=rows, context_tokens=rows.lengths.p99)


def list_models(
    wish: ModelRequirements, models: Iterable[Model] | None = None
) -> tuple[Candidate, ...]:
    """Return every model with what it would take, those that lack nothing first, by id.

    Without `models`, those are left out that are made for another output than the objective's.
    """
    if models is None:
        models = [each for each in all_models() if each.kind in KINDS[_head(wish)]]
    found = [_judge(wish, model) for model in models]
    return tuple(sorted(found, key=lambda each: (len(each.lacks), each.model.id.casefold())))


def shortlist(wish: ModelRequirements) -> tuple[Pick, ...]:
    """Return at most four instruction-tuned models that lack nothing, each with another advantage.

    The largest that trains within a day; the largest of another maker; the quickest of at least
    a billion parameters; and the largest under a licence without conditions. For labels the
    quickest comes first. Without hardware, none is larger than one GPU can train. Plans that leave
    less than `ROOM` of the memory are suggested only if no other fits. Multimodal models are not
    proposed.
    """
    judged = list_models(wish, _list_proposed(wish))
    if wish.hardware is None:
        judged = tuple(each for each in judged if _size(each) <= _LARGEST_UNKNOWN)
    sound = [each for each in judged if not each.lacks and _in_a_day(each)]
    sound = [each for each in sound if _has_room(each)] or sound
    picks: list[Pick] = []
    for reason in _LABEL_REASONS if wish.labels else _CHOICES:
        chosen = [pick.candidate for pick in picks]
        candidate = _choose_sound(
            wish, [each for each in sound if each not in chosen], chosen, _CHOICES[reason]
        )
        if candidate is not None:
            larger = _next_larger(judged, candidate) if reason == "largest" else None
            picks.append(Pick(candidate=candidate, reason=reason, larger=larger))
    return tuple(picks[:_MOST])


def _list_proposed(wish: ModelRequirements) -> list[Model]:
    """Return the recent tuned models that lack nothing but perhaps memory.

    Older ones are taken where only some are allowed and none of them is recent.
    """
    most = wish.most_parameters or sys.maxsize
    kind = "instruct" if "instruct" in KINDS[_head(wish)] else KINDS[_head(wish)][0]
    found = [
        each
        for each in all_models()
        if each.kind == kind
        and each.wrapper is None
        and each.shape.parameters <= most
        and (wish.allowed is None or each.id in wish.allowed)
        and not any(_lacks(wish, each))
    ]
    recent = [each for each in found if each.id.partition("/")[2].startswith(_RECENT)]
    return found if kind != "instruct" or (wish.allowed is not None and not recent) else recent


def _choose_sound(
    wish: ModelRequirements, left: list[Candidate], chosen: list[Candidate], choose: "_Choose"
) -> Candidate | None:
    """Return the candidate of a reason, passing over those whose plan a rule rejects."""
    while left and (candidate := choose(left, chosen)) is not None:
        if not _is_rejected(wish, candidate):
            return candidate
        left.remove(candidate)
    return None


def _is_rejected(wish: ModelRequirements, candidate: Candidate) -> bool:
    """Whether a rule finds an error in the spec with this model and method."""
    if wish.hardware is None or candidate.method is None:
        return False
    spec, known = _with_model(wish, candidate.model, candidate.method, wish.hardware)
    facts = Facts(
        model=known.model, tokenizer=known.tokenizer, data=known.data, hardware=known.hardware
    )
    return any(each.severity == "error" for each in run_checks(spec, facts, candidate.plan))


def find_abilities(wish: ModelRequirements, model: Model) -> tuple[Ability, ...]:
    """Return what each method takes on the hardware of the wish; nothing without hardware."""
    if wish.hardware is None or shape_for(model, _head(wish)) is None:
        return ()
    methods = [method for method in _ALL_METHODS if _is_trained(wish, method)]
    return tuple(_ability(wish, wish.hardware, model, method) for method in methods)


def _ability(
    wish: ModelRequirements, hardware: HardwareFacts, model: Model, method: MethodType
) -> Ability:
    plan, fits = _plan(wish, hardware, model, method)

    def is_too_long(steps: int) -> bool:
        rows = replace(wish, data=nominal_data(tokens=steps * _LENGTH_STEP))
        return not _plan(rows, hardware, model, method)[1]

    lengths = range(1, model.context_tokens // _LENGTH_STEP + 1)
    longest = _LENGTH_STEP * bisect_left(lengths, True, key=is_too_long)
    small = replace(
        wish.spec.training, micro_batch=least_rows(wish.spec.objective), gradient_checkpointing=True
    )
    smallest, _ = _plan(
        replace(wish, spec=replace(wish.spec, training=small)), hardware, model, method
    )
    least = min(plan.memory.device_bytes, smallest.memory.device_bytes)
    return Ability(method=method, plan=plan, fits=fits, least_bytes=least, longest_tokens=longest)


def _plan(
    wish: ModelRequirements, hardware: HardwareFacts, model: Model, method: MethodType
) -> tuple[Plan, bool]:
    """Return the plan of a model with a method, and whether it works."""
    spec, known = _with_model(wish, model, method, hardware)
    plan = plan_once(spec, known)
    return plan, works(spec, known, plan)


def _next_larger(judged: Iterable[Candidate], largest: Candidate) -> Candidate | None:
    """Return the next larger model that lacks only memory."""
    above = (each for each in judged if _size(each) > _size(largest) and each.lacks == ("memory",))
    return min(above, key=_size, default=None)


def _judge(wish: ModelRequirements, model: Model) -> Candidate:
    lacks = list(_lacks(wish, model))
    if "objective" in lacks:
        return Candidate(model=model, method=None, plan=None, lacks=tuple(lacks))
    method, plan = _first_that_fits(wish, model)
    if wish.hardware is not None and method is None:
        lacks.append("memory")
    return Candidate(model=model, method=method, plan=plan, lacks=tuple(lacks))


def _head(wish: ModelRequirements) -> Head:
    return OBJECTIVES[wish.spec.objective.type].head


def _is_trained(wish: ModelRequirements, method: MethodType) -> bool:
    """Whether the scripts of the objective have the method."""
    return method != "qlora" or not compares_texts(wish.spec.objective.type)


def _lacks(wish: ModelRequirements, model: Model) -> Iterator[Lack]:
    if shape_for(model, _head(wish)) is None:
        yield "objective"
    if any(language not in model.languages for language in wish.languages):
        yield "languages"
    if wish.context_tokens is not None and model.context_tokens < wish.context_tokens:
        yield "context"
    if wish.licence is not None and model.licence != wish.licence:
        yield "licence"
    if wish.gguf and not model.convertible:
        yield "gguf"
    if model.quantized is not None:
        yield "16_bit_weights"


def _first_that_fits(
    wish: ModelRequirements, model: Model
) -> tuple[MethodType | None, Plan | None]:
    if wish.hardware is None:
        return None, None
    plan = None
    for method in (each for each in wish.methods if _is_trained(wish, each)):
        plan, fits = _plan(wish, wish.hardware, model, method)
        if fits:
            return method, plan
    return None, plan


def _with_model(
    wish: ModelRequirements, model: Model, method: MethodType, hardware: HardwareFacts
) -> tuple[Spec, KnownFacts]:
    """Return the wish's spec with a model and a method, and the facts of the table."""
    facts = facts_from_table(model, model.id, head=_head(wish))
    known = KnownFacts(
        model=facts, tokenizer=assume_tokenizer(facts), data=wish.data, hardware=hardware
    )
    spec = replace(
        wish.spec,
        model=replace(wish.spec.model, id=model.id),
        method=replace(wish.spec.method, type=method),
    )
    return spec, known


def _in_a_day(candidate: Candidate) -> bool:
    plan = candidate.plan
    return plan is None or plan.time_seconds is None or plan.time_seconds <= _LONGEST_SECONDS


def _has_room(candidate: Candidate) -> bool:
    plan = candidate.plan
    if plan is None or plan.memory.capacity_bytes is None:
        return True
    return plan.memory.device_bytes <= (1 - ROOM) * plan.memory.capacity_bytes


def _size(candidate: Candidate) -> int:
    return candidate.model.shape.parameters


def _maker(candidate: Candidate) -> str:
    return candidate.model.id.partition("/")[0]


def _largest(left: list[Candidate], chosen: list[Candidate]) -> Candidate | None:
    del chosen
    return max(left, key=_size)


def _largest_of_another(left: list[Candidate], chosen: list[Candidate]) -> Candidate | None:
    makers = {_maker(each) for each in chosen}
    return max((each for each in left if _maker(each) not in makers), key=_size, default=None)


def _quickest(left: list[Candidate], chosen: list[Candidate]) -> Candidate | None:
    del chosen
    able = [each for each in left if _size(each) >= 10**9]
    return min(able, key=_size, default=None)


def _freest(left: list[Candidate], chosen: list[Candidate]) -> Candidate | None:
    makers = {_maker(each) for each in chosen}
    free = [each for each in left if each.model.licence in FREE_LICENCES and not each.model.gated]
    others = [each for each in free if _maker(each) not in makers]
    return max(others or free, key=_size, default=None)


_Choose = Callable[[list[Candidate], list[Candidate]], Candidate | None]
_CHOICES: Final[Mapping[Reason, _Choose]] = {
    "largest": _largest,
    "another_maker": _largest_of_another,
    "quickest": _quickest,
    "free_licence": _freest,
}
_LABEL_REASONS: Final = sorted(_CHOICES, key=lambda reason: reason != "quickest")


def with_usual_rows(data: DataFacts, least: int = 500) -> DataFacts:
    """Return the facts of the same rows repeated to at least `least`.

    Example rows are placeholders for a larger data set, for which the model is chosen.
    """
    if data.usable_rows >= least:
        return data
    times = -(-least // max(data.usable_rows, 1))
    lengths = data.lengths
    return replace(
        data,
        rows=data.rows * times,
        sampled_rows=data.sampled_rows * times,
        usable_rows=data.usable_rows * times,
        prompts=data.prompts * times,
        lengths=replace(
            lengths,
            histogram=tuple((edge, rows * times) for edge, rows in lengths.histogram),
            prompt_histogram=tuple((edge, rows * times) for edge, rows in lengths.prompt_histogram),
        ),
    )


def nominal_data(rows: int = 10_000, tokens: int = 512) -> DataFacts:
    """Return stand-in facts for unknown data: a number of rows of one length."""
    half = tokens // 2
    spread = dict.fromkeys(("p50", "p90", "p95", "p99", "max", "mean"), tokens)
    parts = (f"{part}_{rank}" for part in ("prompt", "answer") for rank in ("p50", "p95", "max"))
    told = ("rows", "sampled_rows", "usable_rows", "prompts")
    none = ("blank_rows", "duplicate_rows", "misencoded_rows", "malformed_rows", "lost_rows",
            "control_rows", "conflicting_rows", "size_bytes")  # fmt: skip
    facts = {
        "source": "", "origin": "file", "path": None, "revision": None, "sha256": "",
        "format": "jsonl", "encoding": "utf-8", "columns": ("prompt", "completion"),
        "form": "prompt_completion", "messages": None, "prompt": "prompt",
        "completion": "completion", "instruction": None, "input": None, "output": None,
        "text": None, "faults": {}, "largest_prompt_rows": 1, "multi_turn": False,
        "has_system": False, "languages": {}, "labels": (),
        "twins": {"probes": 0, "compared": 0, "counts": (), "largest": 0, "row": 1},
        "lengths": {
            "estimate": True, "histogram": ((tokens, rows),), "prompt_histogram": ((half, rows),),
            **spread, **dict.fromkeys(parts, half),
        },
        **dict.fromkeys(told, rows), **dict.fromkeys(none, 0),
    }  # fmt: skip
    return convert(facts, DataFacts)
