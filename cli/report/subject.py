"""The subject of findings: the document's name and text, as every reporter gets them."""

from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """`name` is the spec as the user named it; `text` is None when nothing could be read.

    `overridden` has the pointers of values that `--set` gives in place of the file.
    """

    name: str
    text: str | None
    overridden: Collection[str] = field(default_factory=frozenset)
