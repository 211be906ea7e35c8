"""Shows which tokens of a row are learned: a mark before each line, and colour on a terminal."""

from collections.abc import Iterable, Iterator
from typing import Final

from ftc.compiler.resolve.data.mask import MaskedRow

_LEARNED: Final = "+"
_READ: Final = "|"
_COLOUR: Final = "32"
_LINE_END: Final = "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}"


def report_masks(rows: Iterable[MaskedRow], *, max_tokens: int | None, colour: bool) -> str:
    """Return the rows, each under a line that counts its tokens; `max_tokens` is the plan's."""
    paragraphs = [_report(row, max_tokens, colour=colour) for row in rows]
    if not paragraphs:
        return "no row can be shown: none is usable"
    legend = f"{_LEARNED} is learned, {_READ} is only read, {_LINE_END} ends a line of the text"
    return "\n\n".join([*paragraphs, legend])


def _report(row: MaskedRow, max_tokens: int | None, *, colour: bool) -> str:
    over = max_tokens is not None and row.tokens > max_tokens
    more = f", longer than `max_length` ({max_tokens:,})" if over else ""
    reasons = ", with reasoning" if row.reasons else ""
    learned = f"{row.learned:,} of {row.tokens:,} tokens are learned"
    head = f"row {row.number:,}: {learned}{reasons}{more}"
    return "\n".join([head, *_lines(row, colour=colour)])


def _lines(row: MaskedRow, *, colour: bool) -> Iterator[str]:
    """Yield each piece's lines after its mark, with control characters escaped."""
    for text, learned in row.pieces:
        for line in text.splitlines(keepends=True):
            shown = line.rstrip("\r\n")
            shown = "".join(c if c.isprintable() or c == "\t" else repr(c)[1:-1] for c in shown)
            shown += _LINE_END if shown != line and line.endswith(("\n", "\r")) else ""
            marked = f"  {_LEARNED if learned else _READ} {shown}"
            yield f"\x1b[{_COLOUR}m{marked}\x1b[0m" if colour and learned else marked
