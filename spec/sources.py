"""The sources of the data, each with all of its fields; one source is a mixture of one."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, Literal

from ftc.spec.sections import Columns, Data, FileFormat, Form, Source

#: Up to four uses of a row teach about as much as new rows (arXiv 2305.16264).
REPEATS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSource:
    """One source: its own fields, and the section's for those that it leaves out.

    `weight` is its share of an epoch's rows relative to the other weights; None uses its rows
    once. `streaming` reads its rows over the network. `pointer` is its place in the long form, and
    `said` its own fields.
    """

    source: str
    revision: str | None
    subset: str | None
    split: str
    format: FileFormat | Literal["auto"]
    form: Form | Literal["auto"]
    columns: Columns
    weight: float | None
    max_rows: int | None
    max_repeats: int
    streaming: bool
    pointer: str
    said: frozenset[str]

    def at(self, *path: str) -> str:
        """Return the pointer of a field of this source, or of `data` where it has none."""
        if self.pointer == "/data" or path[0] in self.said:
            return "/".join((self.pointer, *path))
        return self.pointer if path == ("source",) else "/".join(("/data", *path))


def list_sources(data: Data) -> tuple[WholeSource, ...]:
    """Return the sources in the order of the spec."""
    if data.sources is None:
        return (_whole(data, Source(source=data.source or ""), "/data"),)
    return tuple(
        _whole(data, Source(source=item) if isinstance(item, str) else item, f"/data/sources/{n}")
        for n, item in enumerate(data.sources)
    )


def is_mixture(data: Data) -> bool:
    """Return whether the sources are a list, which may contain only one."""
    return data.sources is not None


def limit_rows(data: Data, source: WholeSource, *, streamed: bool) -> int | None:
    """Return the maximum number of rows used from a source, or None for all.

    The section's `max_rows` samples from all sources of a mixture. It also limits how many rows
    of a streamed source are read.
    """
    whole = data.max_rows if streamed or source.pointer == "/data" else None
    return min((most for most in (whole, source.max_rows) if most is not None), default=None)


def name_sources(sources: Sequence[str]) -> tuple[str, ...]:
    """Return a short name for each: the shortest end of its path that is unique."""
    parts = [source.replace("\\", "/").split("/") for source in sources]
    most = max(map(len, parts))
    for length in range(1, most + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(set(sources)):
            return tuple(names)
    return tuple(sources)


def _whole(data: Data, item: Source, pointer: str) -> WholeSource:
    said = frozenset(f.name for f in fields(item) if getattr(item, f.name) is not None)
    return WholeSource(
        source=item.source,
        revision=item.revision or data.revision,
        subset=item.subset or data.subset,
        split=item.split or data.split,
        format=item.format or data.format,
        form=item.form or data.form,
        columns=replace(data.columns, **(item.columns or {})),
        weight=item.weight,
        max_rows=item.max_rows,
        max_repeats=item.max_repeats or REPEATS,
        streaming=data.streaming if item.streaming is None else item.streaming,
        pointer=pointer,
        said=said if len(said) > 1 else frozenset(),
    )
