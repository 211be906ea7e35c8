"""Checks that texts survive encoding and decoding by the tokenizer, for prepare.py.

If words or lines run together, the model learns to write that way, and its loss does not show it.
The tokens are also compared with those of `tokenizer.json` as it is saved, because the class that
transformers chooses can replace steps of the file. Where the compiler could read that file, it has
tried it already, and `tokenizer_match` is enough.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from ..prepare.preparing import Records
from ..run import Run
from . import round_trip
from .saved_tokenizer import draw_lines, open_saved, read_texts

NAMED: Final = 5  # lost characters that a message names


def check_tokenizer(
    run: Run,
    tokenizer: Any,
    path: Path | None,
    records: Records,
    *,
    seed: int,
    labelled: bool = False,
) -> dict[str, Any]:
    """Return what the tokenizer loses; end the stage if words or lines run together.

    `path` is that of `tokenizer.json`, or None without one; the records are drawn by `seed`. The
    answer of a record is not encoded if `labelled` is set, because it is a label.
    """
    return compare(run, tokenizer, path, draw_lines(records, seed), labelled=labelled)


def compare(
    run: Run, tokenizer: Any, path: Path | None, lines: Iterable[bytes], *, labelled: bool = False
) -> dict[str, Any]:
    """Check the lines of records in the same way."""
    saved = None if path is None else open_saved(path, tokenizer)

    def expect(texts: Sequence[str]) -> list[list[int]]:
        assert saved is not None  # noqa: S101 - see its use
        return [each.ids for each in saved.encode_batch(list(texts), add_special_tokens=False)]

    found = round_trip.compare_rows(
        (read_texts(line, labelled=labelled) for line in lines),
        encode=lambda texts: tokenizer(texts, add_special_tokens=False)["input_ids"],
        decode=lambda ids: str(tokenizer.decode(ids, clean_up_tokenization_spaces=False)),
        expect=expect if saved else None,
    )
    if not found.rows:
        run.stop("no row has a text to test the tokenizer with")
    loaded = type(tokenizer).__name__
    if found.torn_rows:
        torn = {key: count for key, count in found.lost.items() if key in round_trip.SEPARATORS}
        run.stop(
            f"the tokenizer, which transformers loads as {loaded}, loses"
            f" {round_trip.describe(torn, NAMED)} in {found.torn_rows:,} of {found.rows:,} rows:"
            " use the tokenizer that the model was published with"
        )
    if found.lost:
        most = max(found.lost.values())
        run.say(
            f"warning: the tokenizer loses {round_trip.describe(found.lost, NAMED)}, the first in"
            f" {most:,} of {found.rows:,} rows"
        )
    if found.other_rows:
        run.say(
            f"warning: transformers loads the tokenizer as {loaded}, which reads"
            f" {found.other_rows:,} of {found.rows:,} rows as other tokens than tokenizer.json says"
        )
    run.say(f"{found.rows:,} rows keep their words and lines when encoded and decoded")
    return asdict(found)
