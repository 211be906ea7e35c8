"""What becomes of padding: whether rows are packed or grouped by length, and why."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.knowledge.architecture import keeps_packed_rows_apart
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.arrangement import (
    Arrangement,
    group_rows,
    pack_rows,
    pad_rows,
    split_lengths,
)
from ftc.compiler.plan.batch import target_rows
from ftc.compiler.plan.comparison import PAIRING
from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.lengths import round_up
from ftc.compiler.plan.sampling import samples
from ftc.compiler.plan.search import Search, search
from ftc.compiler.plan.source import derived, keep
from ftc.compiler.plan.time import pass_tokens
from ftc.compiler.resolve.facts import Lengths
from ftc.spec.sections import Packing, Spec

_WORTH_PACKING: Final = 1.1  # a padded epoch's time over a packed one's
_LEAST_PACKED: Final = 4  # packed rows of a step
_NOT_SLOWER: Final = 0.95
_WORTH_GROUPING: Final = 1.5  # more: batches of alike rows are less random

MakeFrame = Callable[[Arrangement], Frame]


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """The decisions; those of packed rows are None where rows are not packed."""

    packing: Decision[Packing]
    packed_length: Decision[int] | None
    packed_rows: Decision[int] | None
    group_by_length: Decision[bool]


def _most_tokens(spec: Spec, lengths: Lengths, *, rows: int, world: int) -> float:
    """Return the tokens that a packed row may have at most, so that a step has several.

    Best fit puts rows of a length together: a step of one packed row is all long rows or all short
    ones, and a token of a long row then counts for more. Of texts every token is learned.
    """
    least = 1 if OBJECTIVES[spec.objective.type].splits else _LEAST_PACKED
    return target_rows(rows) * lengths.mean / max(least, world)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    """An arrangement with the fastest layout of it, and an epoch's seconds."""

    frame: Frame
    found: Search

    @property
    def seconds(self) -> float:
        steps = self.frame.arrangement.rows / self.frame.batch.decision.value
        return max(1.0, steps) * self.found.chosen.seconds

    @property
    def fits(self) -> bool:
        return self.found.chosen.memory.fits is not False


def sorts_rows(spec: Spec) -> bool:
    """Tell whether the rows of a step are sorted by length, where they are not packed.

    Trainers that compare answers, or try some, draw their rows by themselves.
    """
    return spec.objective.type not in PAIRING and not samples(spec)


def find_pieces(spec: Spec, facts: KnownFacts, max_length: int) -> tuple[float, Lengths]:
    """Return the rows to train on for each of the data, and their lengths.

    They are the data's own but for texts, of which long ones are split.
    """
    if not OBJECTIVES[spec.objective.type].splits:
        return 1.0, facts.data.lengths
    return split_lengths(facts.data.lengths, max_length)


def first_arrangement(
    spec: Spec, facts: KnownFacts, lengths: Lengths, *, rows: int, max_length: int, world: int
) -> Arrangement:
    """Return what the spec says of packing and grouping; rows by themselves where it is open."""
    if spec.data.packing == "best-fit":
        least = float(round_up(max_length))
        said = spec.training.global_batch != "auto"
        most = (
            facts.model.context_tokens
            if said
            else _most_tokens(spec, lengths, rows=rows, world=world)
        )
        packed = pack_rows(lengths, rows=rows, max_length=max_length, most_tokens=max(least, most))
        if packed is not None:
            return packed
    if spec.training.group_by_length is True:
        return group_rows(lengths, rows=rows, max_length=max_length)
    return pad_rows(lengths, rows=rows, max_length=max_length, by_length=sorts_rows(spec))


def choose_padding(first: Frame, make: MakeFrame) -> tuple[Frame, Search, Padding]:
    """Return the frame to plan with, the search in it, and the decisions; `first` is the spec's.

    Rows are packed or grouped where an epoch is then clearly faster: by a tenth, and by more for
    grouping, whose batches are less random.
    """
    spec, padded = first.spec, _try(first)
    if first.arrangement.packed:
        packed = padded if padded.fits else _pack(first, make, round_up(first.max_length)) or padded
        return _packed(packed, keep(spec, "/data/packing", "best-fit"))
    packing: Decision[Packing] = keep(spec, "/data/packing", "none")
    if spec.data.packing == "auto":
        because, found = _try_packing(padded, make)
        if found is not None:
            return _packed(found, Decision(value="best-fit", source="derived", because=because))
        packing = Decision(value="none", source="derived", because=because)
    grouping, chosen = _decide_grouping(padded, make)
    return (
        chosen.frame,
        chosen.found,
        Padding(packing=packing, packed_length=None, packed_rows=None, group_by_length=grouping),
    )


def _try(frame: Frame) -> _Tried:
    return _Tried(frame=frame, found=search(frame))


def _try_packing(padded: _Tried, make: MakeFrame) -> tuple[Because, _Tried | None]:
    """Return why rows are packed or not, and the packed frame where they are."""
    first = padded.frame
    because = _obstacle(first) if padded.fits else Because(key="packing.tight")
    if because is not None:
        return because, None
    rows, lengths = first.arrangement.data_rows, first.lengths
    # As long as leaves several for a step; as short as the longest row where memory is tight.
    tried = _pack(first, make, _most_tokens(first.spec, lengths, rows=rows, world=first.world))
    if tried is not None and not tried.fits:
        tried = _pack(first, make, round_up(first.max_length))
    if tried is None:
        long = {"tokens": first.max_length, "rows": round(target_rows(rows))}
        return Because(key="packing.long", values=long), None
    ratio = padded.seconds / tried.seconds
    values: dict[str, Any] = {
        "slower_share": ratio - 1,
        "mean": round(lengths.mean),
        "max": first.max_length,
    }
    if tried.fits and OBJECTIVES[first.spec.objective.type].splits and ratio > _NOT_SLOWER:
        return Because(key="packing.text"), tried
    if not tried.fits or ratio < _WORTH_PACKING:
        return Because(key="packing.even", values=values), None
    return Because(key="packing.faster", values=values), tried


def _pack(first: Frame, make: MakeFrame, most_tokens: float) -> _Tried | None:
    packed = pack_rows(
        first.lengths,
        rows=first.arrangement.data_rows,
        max_length=first.max_length,
        most_tokens=most_tokens,
    )
    return None if packed is None else _try(make(packed))


def _obstacle(frame: Frame) -> Because | None:
    """Return why rows cannot be packed, or are not without being asked; None where they can."""
    spec, model = frame.spec, frame.facts.model
    if not OBJECTIVES[spec.objective.type].packs:
        return Because(key="packing.objective", values={"objective": spec.objective.type})
    apart = keeps_packed_rows_apart(model.architecture)
    if not apart:
        key = "packing.unknown" if apart is None else "packing.leaks"
        return Because(key=key, values={"architecture": model.architecture})
    if spec.training.group_by_length is True:
        return Because(key="packing.grouped")
    for name in ("global_batch", "micro_batch"):
        if getattr(spec.training, name) != "auto":
            return Because(key="packing.counted", values={"field": f"training.{name}"})
    return None


def _packed(tried: _Tried, packing: Decision[Packing]) -> tuple[Frame, Search, Padding]:
    packed = tried.frame.arrangement
    padding = Padding(
        packing=packing,
        packed_length=derived(
            packed.length_tokens,
            "packed_length",
            fill_share=packed.fill,
            max=tried.frame.max_length,
        ),
        packed_rows=derived(packed.rows, "packed_rows", each=round(packed.each, 1)),
        group_by_length=derived(False, "grouping.packed"),
    )
    return tried.frame, tried.found, padding


def _decide_grouping(padded: _Tried, make: MakeFrame) -> tuple[Decision[bool], _Tried]:
    """Group where steps of random rows are padded so much that it costs more than it is worth."""
    first, written = padded.frame, padded.frame.spec.training.group_by_length
    if first.spec.objective.type in PAIRING:
        return derived(False, "grouping.comparing"), padded
    if samples(first.spec):
        return derived(False, "grouping.sampling"), padded
    if written != "auto":
        return keep(first.spec, "/training/group_by_length", written), padded
    rows, lengths = first.arrangement.rows, first.lengths
    grouped = group_rows(lengths, rows=rows, max_length=first.max_length)
    micro, step = padded.found.chosen.micro, first.batch.decision.value
    alone = pass_tokens(first.arrangement, micro=micro, world=first.world, step=step)
    share = alone / grouped.lengths.mean - 1
    if not padded.fits or share < _WORTH_GROUPING - 1:
        return derived(False, "grouping.off", slower_share=max(0.0, share)), padded
    return derived(True, "grouping.on", slower_share=share), _try(make(grouped))
