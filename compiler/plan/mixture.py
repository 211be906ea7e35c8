"""How many rows of each source an epoch has."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.lengths import share_above
from ftc.compiler.plan.source import derived
from ftc.compiler.resolve.facts import DataFacts
from ftc.compiler.resolve.mixture import allot
from ftc.spec.sections import Spec
from ftc.spec.sources import list_sources, name_sources


def count_rows(spec: Spec, data: DataFacts, max_length_tokens: int) -> list[int]:
    """Return the rows of each source that are left once those too long are dropped.

    `data.max_rows` draws from all sources alike.
    """
    parts = data.sources or (data,)
    usable = sum(part.usable_rows for part in parts)
    share = min(1.0, (spec.data.max_rows or usable) / max(1, usable))
    rows = [round(part.usable_rows * share) for part in parts]
    if spec.data.cleaning.overlong != "drop" or OBJECTIVES[spec.objective.type].splits:
        return rows
    return [
        n - round(n * share_above(part.lengths, max_length_tokens))
        for n, part in zip(rows, parts, strict=True)
    ]


def is_weighed(spec: Spec) -> bool:
    """Tell whether the sources have weights."""
    return any(source.weight is not None for source in list_sources(spec.data))


def label_sources(spec: Spec) -> tuple[str, ...]:
    """Return a short name for each source; one that is there again is numbered."""
    names = name_sources([source.source for source in list_sources(spec.data)])
    return tuple(
        name if name not in names[:place] else f"{name} ({place + 1})"
        for place, name in enumerate(names)
    )


def decide_mixture(
    spec: Spec, data: DataFacts, rows: Sequence[int], *, train_share: float
) -> Decision[Mapping[str, int]] | None:
    """Return the training rows of each source in one epoch, repeats included; None for one."""
    if not data.sources:
        return None
    sources, names = list_sources(spec.data), label_sources(spec)
    trained = share_rows(rows, train_share)
    epoch = allot(
        trained,
        [source.weight for source in sources],
        [source.max_repeats for source in sources],
    )
    value = dict(zip(names, epoch, strict=True))
    if not is_weighed(spec):
        return derived(value, "mixture.rows")
    weights = " : ".join(f"{source.weight:g}" for source in sources)
    if all(n >= whole for n, whole in zip(epoch, trained, strict=True)):
        return derived(value, "mixture.whole", weights=weights)
    capped = find_capped(trained, epoch, [source.max_repeats for source in sources])
    name, repeats = names[capped], sources[capped].max_repeats
    return derived(value, "mixture.capped", weights=weights, name=name, repeats=repeats)


def share_rows(rows: Sequence[int], share: float) -> list[int]:
    """Return a share of each source's rows, which add up to that share of all."""
    ends = [round(sum(rows[: place + 1]) * share) for place in range(len(rows))]
    return [end - start for start, end in pairwise([0, *ends])]


def find_capped(rows: Sequence[int], epoch: Sequence[int], repeats: Sequence[int]) -> int:
    """Return the place of the source whose rows are seen as often as may be."""
    room = [
        most * n - seen if n else max(epoch)
        for n, seen, most in zip(rows, epoch, repeats, strict=True)
    ]
    return room.index(min(room))
