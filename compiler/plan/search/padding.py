"""Decides whether rows are packed or grouped by length to avoid padding."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.plan.batch.lengths import limit_lengths, round_up
from ftc.compiler.plan.batch.sizes import (
    Arrangement,
    decide_batch,
    group_rows,
    pack_rows,
    pad_rows,
    split_lengths,
    target_rows,
)
from ftc.compiler.plan.decision import Because, Decision, derived, keep
from ftc.compiler.plan.objective.comparison import PAIRING
from ftc.compiler.plan.objective.sampling import samples
from ftc.compiler.plan.search.layout import Search, search
from ftc.compiler.plan.search.space import Frame
from ftc.compiler.plan.time.run import padded_tokens
from ftc.compiler.resolve.facts import KnownFacts, Lengths
from ftc.spec.sections import Objective, Packing, Spec

_WORTH_PACKING: Final = 1.1  # the minimum ratio of tokens in a padded step to tokens in packed rows
_LEAST_PACKED: Final = 4  # packed rows of a step
_NOT_MORE: Final = 0.95
_WORTH_GROUPING: Final = 1.5  # more: batches of alike rows are less random
_PASS_ROWS: Final = 8  # of the passes for which grouping is weighed, if the spec has no number


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """The decisions about padding; those about packed rows are None without packing."""

    packing: Decision[Packing]
    packed_length: Decision[int] | None
    packed_rows: Decision[int] | None
    group_by_length: Decision[bool]


def _most_tokens(objective: Objective, lengths: Lengths, *, rows: int) -> float:
    """Return the most tokens of a packed row with which a step still has several packed rows.

    Best fit packs rows of similar length together. A step of one packed row would be all long or
    all short rows, which changes the weight of their tokens in the loss. Texts have no such limit,
    as every token of theirs is trained on.
    """
    least = 1 if OBJECTIVES[objective.type].splits else _LEAST_PACKED
    return target_rows(rows) * lengths.mean / least


@dataclass(frozen=True, kw_only=True)
class _Tried:
    """A frame with the search for its layout, which is done only if it is needed."""

    frame: Frame

    @cached_property
    def found(self) -> Search:
        return search(self.frame)

    @property
    def fits(self) -> bool:
        return self.found.chosen.memory.fits is not False


def sorts_rows(objective: Objective) -> bool:
    """Return whether the rows of a step are sorted by length, if they are not packed.

    Trainers that compare or sample answers have their own sampler of rows.
    """
    compares = objective.type in PAIRING or compares_texts(objective.type)
    return not compares and not samples(objective)


def find_pieces(spec: Spec, facts: KnownFacts, max_length: int) -> tuple[float, Lengths]:
    """Return how many rows to train on each data row gives, and their lengths.

    Only long texts are split into more than one.
    """
    if not OBJECTIVES[spec.objective.type].splits:
        drops = spec.data.cleaning.overlong == "drop"
        return 1.0, limit_lengths(facts.data.lengths, max_length, drops=drops)
    return split_lengths(facts.data.lengths, max_length)


def text_tokens(objective: Objective, lengths: Lengths) -> float:
    """Return the mean length of a row of text, 0 where rows have answers."""
    return lengths.mean if OBJECTIVES[objective.type].splits else 0.0


def first_arrangement(
    spec: Spec, facts: KnownFacts, lengths: Lengths, *, rows: int, max_length: int, longest: int
) -> Arrangement:
    """Return the arrangement that the spec asks for, or single rows where it leaves it open."""
    if spec.data.packing == "best-fit":
        least = float(round_up(max_length))
        said = spec.training.global_batch != "auto"
        most = (
            facts.model.context_tokens if said else _most_tokens(spec.objective, lengths, rows=rows)
        )
        packed = pack_rows(lengths, rows=rows, max_length=max_length, most_tokens=max(least, most))
        if packed is not None:
            return packed
    if spec.training.group_by_length is True:
        return group_rows(lengths, rows=rows, longest=longest)
    return pad_rows(lengths, rows=rows, longest=longest, by_length=sorts_rows(spec.objective))


def choose_padding(first: Frame) -> tuple[Frame, Search, Padding]:
    """Return the frame to plan with, its search, and the decisions about padding.

    `first` is the frame with the arrangement of the spec. Rows are packed if that saves a tenth of
    the tokens. Rows are grouped only if that saves more, as its batches are less random. The choice
    depends on the lengths and the global batch alone, so that any number of processes forms the
    same steps. Memory has one effect: packed rows that do not fit are made as short as possible.
    """
    spec, padded = first.spec, _Tried(frame=first)
    if first.arrangement.packed:
        packed = padded if padded.fits else _pack(first, round_up(first.max_length.value)) or padded
        return _packed(packed, keep(spec, "/data/packing", "best-fit"))
    packing: Decision[Packing] = keep(spec, "/data/packing", "none")
    if spec.data.packing == "auto":
        because, found = _try_packing(padded)
        if found is not None:
            return _packed(found, Decision(value="best-fit", source="derived", because=because))
        packing = Decision(value="none", source="derived", because=because)
    grouping, chosen = _decide_grouping(padded)
    return (
        chosen.frame,
        chosen.found,
        Padding(packing=packing, packed_length=None, packed_rows=None, group_by_length=grouping),
    )


def with_shortest_rows(first: Frame) -> Frame:
    """Return the frame with the shortest packed rows allowed, which need the least memory."""
    if not first.arrangement.packed:
        return first
    length = first.max_length.value
    shortest = pack_rows(
        first.lengths,
        rows=first.arrangement.data_rows,
        max_length=length,
        most_tokens=round_up(length),
    )
    return first if shortest is None else _rearrange(first, shortest)


def _rearrange(frame: Frame, arrangement: Arrangement) -> Frame:
    """Return the frame with rows arranged in another way, and the batch that follows from it."""
    batch = decide_batch(
        frame.spec,
        train_rows=frame.rows,
        world=frame.world.value,
        each=arrangement.each,
        text_tokens=text_tokens(frame.spec.objective, frame.lengths),
    )
    return replace(frame, arrangement=arrangement, batch=batch)


def _try_packing(padded: _Tried) -> tuple[Because, _Tried | None]:
    """Return the reason why rows are packed or not, and the packed frame if they are."""
    first = padded.frame
    because = _obstacle(first)
    if because is not None:
        return because, None
    rows, lengths = first.arrangement.data_rows, first.lengths
    # As long as a step can still have several; shorter below, if memory does not suffice.
    tried = _pack(first, _most_tokens(first.spec.objective, lengths, rows=rows))
    if tried is None:
        long = {"tokens": first.max_length.value, "rows": first.batch.decision.value}
        return Because(key="packing.long", values=long), None
    because, is_worth = _weigh_packing(first, tried.frame.arrangement)
    if not is_worth:
        return because, None
    if not tried.fits:
        tried = _pack(first, round_up(first.max_length.value)) or tried
    if not tried.fits and padded.fits:
        tokens = tried.frame.arrangement.length_tokens
        return Because(key="packing.tight", values={"tokens": tokens}), None
    return because, tried


def _weigh_packing(first: Frame, packed: Arrangement) -> tuple[Because, bool]:
    """Compare the tokens of a padded step with those of packed rows; say whether packing pays."""
    padded = padded_tokens(first.lengths, first.batch.decision.value, first.max_length.value)
    ratio = padded * packed.each / packed.length_tokens
    if OBJECTIVES[first.spec.objective.type].splits and ratio > _NOT_MORE:
        return Because(key="packing.text"), True
    values = {"mean": round(first.lengths.mean), "max": first.max_length.value}
    if ratio < _WORTH_PACKING:
        return Because(key="packing.even", values=values), False
    return Because(key="packing.fewer", values={**values, "more_share": ratio - 1}), True


def _pack(first: Frame, most_tokens: float) -> _Tried | None:
    packed = pack_rows(
        first.lengths,
        rows=first.arrangement.data_rows,
        max_length=first.max_length.value,
        most_tokens=most_tokens,
    )
    return None if packed is None else _Tried(frame=_rearrange(first, packed))


def _obstacle(frame: Frame) -> Because | None:
    """Return why rows are not packed unless the spec asks for it; None if they can be."""
    spec, model = frame.spec, frame.facts.model
    if not OBJECTIVES[spec.objective.type].packs:
        return Because(key="packing.objective", values={"objective": spec.objective.type})
    if frame.sight is not None:
        return Because(key="packing.images")
    apart = model.keeps_rows_apart
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
            max=tried.frame.max_length.value,
        ),
        packed_rows=derived(packed.rows, "packed_rows", each=round(packed.each, 1)),
        group_by_length=derived(False, "grouping.packed"),
    )
    return tried.frame, tried.found, padding


def _decide_grouping(padded: _Tried) -> tuple[Decision[bool], _Tried]:
    """Group rows by length where steps of random rows would have too much padding."""
    first, written = padded.frame, padded.frame.spec.training.group_by_length
    if first.spec.objective.type in PAIRING or compares_texts(first.spec.objective.type):
        return derived(False, "grouping.comparing"), padded
    if samples(first.spec.objective):
        return derived(False, "grouping.sampling"), padded
    if written != "auto":
        return keep(first.spec, "/training/group_by_length", written), padded
    step = first.batch.decision.value
    said = first.spec.training.micro_batch
    rows, lengths = min(_PASS_ROWS if said == "auto" else said, step), first.lengths
    grouped = group_rows(lengths, rows=first.arrangement.rows, longest=first.longest)
    alone = padded_tokens(lengths, rows, first.max_length.value, sorted_rows=step)
    share = alone / grouped.lengths.mean - 1
    if share < _WORTH_GROUPING - 1:
        values = {"rows": rows, "more_share": max(0.0, share)}
        return derived(False, "grouping.off", **values), padded
    decision = derived(True, "grouping.on", rows=rows, more_share=share)
    return decision, _Tried(frame=_rearrange(first, grouped))
