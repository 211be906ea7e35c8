"""The global batch, the micro-batches that divide it, and how rows are arranged in one."""

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from ftc.compiler.knowledge.objectives import gives_vectors
from ftc.compiler.plan.batch.lengths import pack_lengths, round_up, spread
from ftc.compiler.plan.decision import Because, Decision, decide, derived
from ftc.compiler.resolve.facts import Lengths
from ftc.spec.sections import Objective, Spec

_ROWS_PER_STEP = 100  # about a hundred optimizer steps an epoch
_LEAST, _MOST = 4, 128
LEAST_CONTRASTED: Final = 32  # rows of a step, each of which is contrasted with the others
_TEXT_TOKENS: Final = 150_000  # per step of text; a power of two of rows leaves 100,000 or more
_TEXT_STEPS: Final = 32  # an epoch of little text has at least as many
_FULL_ENOUGH: Final = 0.95  # of a packed row; longer rows are hardly fuller
_GROUPED_PADDING: Final = 1.05  # tokens of a batch of similar rows, over those without padding


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The global batch, a whole multiple of the number of processes.

    `rows_per_process` are the rows of one process per optimizer step. `micro_options` are the
    micro-batches that divide it, largest first.
    """

    decision: Decision[int]
    rows_per_process: int
    micro_options: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """The content of batches: the `rows` of an epoch and their `lengths`.

    `length_tokens` is the length of the longest row. `each` is the mean number of data rows in one
    row: 1 without packing. `sorted`: the rows of a step, which are drawn at random, are sorted by
    length. `together`: the number of rows that are padded to one length before they are divided
    into passes, if any.
    """

    packed: bool = False
    grouped: bool = False
    sorted: bool = False
    together: int = 0
    rows: int
    lengths: Lengths
    length_tokens: int
    each: float = 1.0

    @property
    def data_rows(self) -> int:
        """The rows of the data that an epoch has."""
        return round(self.rows * self.each)

    @property
    def fill(self) -> float:
        """The share of a row of full length that is not padding."""
        return self.lengths.mean / self.length_tokens


def target_rows(train_rows: int, *, text_tokens: float = 0.0) -> float:
    """Return the target number of data rows per step: a hundredth of the rows, within bounds.

    `text_tokens` is the mean length of a row of text, 0 for rows with answers. Continued
    pretraining learns from text that hardly repeats, in large steps: those of arXiv 2403.08763 have
    2M tokens (section 4).
    """
    target = min(_MOST, max(_LEAST, train_rows / _ROWS_PER_STEP))
    if not text_tokens:
        return target
    return max(target, min(_TEXT_TOKENS / text_tokens, train_rows / _TEXT_STEPS))


def _bounded(train_rows: int) -> str | None:
    """Return the reason for a batch at a bound, or None if it is between the bounds."""
    if train_rows < _LEAST * _ROWS_PER_STEP:
        return "global_batch.least"
    return "global_batch.most" if train_rows > _MOST * _ROWS_PER_STEP else None


def decide_batch(
    spec: Spec,
    *,
    train_rows: int,
    world: int,
    each: float = 1.0,
    text_tokens: float = 0.0,
    documents: int = 0,
    texts: int = 1,
    scored: bool = False,
) -> Batch:
    """Decide the rows per step: the spec's, or a power of two per process near rows / 100.

    Batches count packed rows where `each` of them holds several data rows. Rows of text have
    `text_tokens` on average, which is 0 for rows with answers. If vectors of few `documents` are
    contrasted, a step has at most that number of rows, divided by the `texts` of them in a row; 0
    stands for many. `scored` says that rows are pairs with a score. A batch of the spec that cannot
    be divided is replaced by the nearest one that can (a rule reports it).
    """

    def derive() -> tuple[int, Because]:
        rows_asked = target_rows(train_rows, text_tokens=text_tokens)
        contrasted = gives_vectors(spec.objective.type)
        least = max(least_rows(spec.objective), LEAST_CONTRASTED / world if contrasted else 1)
        asked = max(least, rows_asked / each / world)
        per_process = 2 ** max(0, round(math.log2(asked)))
        values: dict[str, Any] = {"rows": train_rows}
        if contrasted and documents and documents // texts < per_process * world:
            least = 1 if world > 1 else 2
            fewer = 2 ** int(math.log2(max(least, documents // texts // world)))
            held = {"documents": documents} | ({"texts": texts} if texts > 1 else {})
            key = "global_batch.documents_per_row" if texts > 1 else "global_batch.documents"
            return fewer * world, Because(key=key, values=held)
        if contrasted and scored:
            return per_process * world, Because(key="global_batch.paired", values=values)
        if contrasted:
            return per_process * world, Because(key="global_batch.contrasted", values=values)
        if text_tokens:
            values["tokens"] = round(per_process * world * each * text_tokens)
            return per_process * world, Because(key="global_batch.text", values=values)
        if each > 1:
            values["each"] = round(each, 1)
        key = _bounded(train_rows) or ("global_batch.packed" if each > 1 else "global_batch.rows")
        return per_process * world, Because(key=key, values=values)

    decision = decide(spec, "/training/global_batch", spec.training.global_batch, derive)
    micro = spec.training.micro_batch
    unit = world if micro == "auto" else world * micro
    whole = unit * max(1, round(decision.value / unit))
    if whole != decision.value:
        key = "global_batch.whole" if decision.source == "derived" else "global_batch.rounded"
        decision = derived(whole, key, asked=decision.value, unit=unit, rows=train_rows)
    rows = whole // world
    options = divisors(rows) if micro == "auto" else (micro,)
    options = tuple(n for n in options if n >= least_rows(spec.objective)) or options[:1]
    return Batch(decision=decision, rows_per_process=rows, micro_options=options)


def least_rows(objective: Objective) -> int:
    """Return the minimum number of rows in a pass: two if rows are compared with each other."""
    return 2 if objective.type == "kto" or gives_vectors(objective.type) else 1


def divisors(rows: int) -> tuple[int, ...]:
    """Return the divisors of a number, largest first."""
    small = [n for n in range(1, math.isqrt(rows) + 1) if rows % n == 0]
    return tuple(sorted({*small, *(rows // n for n in small)}, reverse=True))


def ladder(rows_per_process: int, micro: int, *, least: int = 1) -> tuple[tuple[int, int], ...]:
    """Return (micro-batch, accumulation) from this micro-batch down, all with one global batch."""
    options = [n for n in divisors(rows_per_process) if least <= n <= micro]
    return tuple((n, rows_per_process // n) for n in options or [micro])


def pad_rows(lengths: Lengths, *, rows: int, longest: int, by_length: bool) -> Arrangement:
    """Return the arrangement of single rows in random order, those of a step sorted or not."""
    return Arrangement(sorted=by_length, rows=rows, lengths=lengths, length_tokens=longest)


def group_rows(lengths: Lengths, *, rows: int, longest: int) -> Arrangement:
    """Return the arrangement of single rows in batches of about equal length.

    Fifty steps are sorted at a time, so that a batch has little padding.
    """
    mean = min(lengths.mean, longest)
    alike = replace(lengths, mean=_GROUPED_PADDING * mean, histogram=((max(1, round(mean)), rows),))
    return Arrangement(grouped=True, rows=rows, lengths=alike, length_tokens=longest)


def pack_rows(
    lengths: Lengths, *, rows: int, max_length: int, most_tokens: float
) -> Arrangement | None:
    """Return packed rows of the smallest doubling of the longest row that packing fills.

    No packed row is longer than `most_tokens`. Returns None if `max_length` is already longer, or
    if there are no rows. If `max_length` truncates a row, the remaining part counts.
    """
    best: Arrangement | None = None
    length = round_up(max_length)
    while length <= most_tokens and rows:
        packed, theirs = pack_lengths(_cut(lengths, max_length), length, rows=rows)
        each = rows / packed
        tried = Arrangement(
            packed=True, rows=packed, lengths=theirs, length_tokens=length, each=each
        )
        if best is None or tried.fill > best.fill:
            best = tried
        if tried.fill >= _FULL_ENOUGH:
            break
        length *= 2
    return best


def split_lengths(lengths: Lengths, max_length: int) -> tuple[float, Lengths]:
    """Return the mean number of pieces that a row is split into, and the lengths of the pieces."""
    pieces: dict[int, int] = {}
    total = sum(count for _, count in lengths.histogram)
    for length, count in spread(lengths):
        whole, rest = divmod(length, max_length)
        for size, number in ((max_length, whole * count), (rest, count)):
            if size and number:
                pieces[size] = pieces.get(size, 0) + number
    share = sum(pieces.values()) / total if total else 1.0
    mean = min(lengths.mean / share, max_length)
    return share, replace(
        lengths,
        mean=mean,
        max=min(lengths.max, max_length),
        histogram=tuple(sorted(pieces.items())),
    )


def _cut(lengths: Lengths, max_length: int) -> Lengths:
    edges = tuple((min(edge, max_length), count) for edge, count in lengths.histogram)
    return replace(lengths, mean=min(lengths.mean, max_length), histogram=edges)
