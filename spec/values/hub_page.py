"""The address of a repository's page on the Hub, which people copy instead of its id."""

import re
from typing import Final, Literal

_NAME: Final = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*?"
_PAGE: Final = re.compile(
    r"(?:(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/|hf://)"
    rf"(datasets/)?({_NAME})(?:\.git)?(?:/.*|[?#].*|)"
)
#: First parts of other pages.
_OTHER: Final = (
    "datasets/",
    "spaces/",
    "docs/",
    "collections/",
    "papers/",
    "blog/",
    "models/",
    "tasks/",
)


def find_repository(address: str, kind: Literal["model", "dataset"] = "model") -> str | None:
    """Return the id of the repository of this kind that a page is about, or None.

    The address may go on with a file or a branch.
    """
    match = _PAGE.fullmatch(address.strip())
    if match is None or match[2].startswith(_OTHER):
        return None
    return match[2] if (match[1] is not None) == (kind == "dataset") else None
