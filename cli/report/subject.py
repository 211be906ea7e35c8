"""What findings are about: the document's name and text, as every reporter gets them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """`name` is the spec as the user named it; `text` is None when nothing could be read."""

    name: str
    text: str | None
