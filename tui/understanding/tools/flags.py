"""Command-line flags in prose: "--lr 1e-4 --bf16, full params, on a 3090".

The flags are read as a pasted command, and the rest as a message.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from ftc.compiler.importing.command_line import is_arguments, is_command
from ftc.tui.understanding.implied import find_displaced, imply
from ftc.tui.understanding.reading import Reading
from ftc.tui.understanding.tools.pasted import is_submission, read_pasted

#: A part between commas outside quotation marks and brackets.
_PART: Final = re.compile(
    r"(?:\"[^\"]*\"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|(?![,;|]\s|[,;|]$|\s/\s).)+", re.DOTALL
)
_FLAG: Final = re.compile(r"(?<!\S)--[A-Za-z]")


def read_config(
    text: str, draft: Mapping[str, Any], again: Callable[[str], Reading]
) -> Reading | None:
    """Return the reading of a pasted config, or of flags with the prose beside them."""

    def paste(words: str) -> Reading | None:
        return read_pasted(words, draft, again)

    if (mixed := _read_with_flags(text, paste, again)) is not None:
        return mixed
    if (pasted := paste(text)) is None:
        return None
    taken = [*pasted.changes, *imply(pasted.changes, draft)]
    return replace(pasted, changes=(*taken, *find_displaced(taken, draft)))


def _read_with_flags(
    text: str,
    paste: Callable[[str], Reading | None],
    read: Callable[[str], Reading],
) -> Reading | None:
    """Return the reading of a line with flags and prose; None if it has only one of the two."""
    flags, prose = _split(text)
    if not (flags and prose):
        return None
    pasted = paste(flags)
    if pasted is None:
        return None
    told = read(prose)
    own = {each.pointer for each in told.changes}
    kept = (each for each in pasted.changes if each.pointer not in own)
    return replace(
        told,
        changes=(*kept, *told.changes),
        choices=(*pasted.choices, *told.choices),
        paste=pasted.paste,
    )


def _split(text: str) -> tuple[str, str]:
    """Return the flags of a line, and the words before and after them."""
    if "\n" in text.strip() or not is_arguments(text) or is_submission(text):
        return "", ""
    flags, prose = [], []
    for match in _PART.finditer(text):
        part = match[0].strip()
        first = _FLAG.search(part)
        if first is None:
            prose.append(part)
            continue
        before = part[: first.start()].strip()
        if before and not is_command(part):
            prose.append(before)
            part = part[first.start() :]
        flags.append(part)
    return " ".join(flags), ", ".join(filter(None, prose))
