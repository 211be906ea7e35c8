"""Checks that llama.cpp turns every row into the tokens that the model was trained on.

With other tokens, a GGUF file would read text that the model has not learned. Each row is rendered
again and compared with the tokens of training: see `conversations`, `row_kinds` and `plain_rows`.
Only the vocabulary of the file is loaded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..llama_cpp.gguf_file import load_vocabulary
from ..run import Run

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRows:
    """The file `path` of the rows that GGUF files are evaluated on, and how prepare.py made them.

    `is_same` compares a row with a vocabulary: one of conversations, row_kinds or plain_rows.
    If `is_split`, texts were split, and only the first piece has the text. `count` returns further
    numbers for tokens.json, from a vocabulary and the rows.
    """

    path: Path
    is_same: Callable[["Vocabulary", Row], bool]
    is_split: bool = False
    count: Callable[["Vocabulary", Sequence[Row]], dict[str, int]] | None = None


class Vocabulary:
    """The vocabulary and the metadata of a GGUF file, without its weights.

    `rows_written_at` is when prepare.py wrote the rows.
    """

    def __init__(self, run: Run, rows: JudgedRows, path: Path) -> None:
        self.run = run
        self.words = load_vocabulary(run, path)
        self.rows_written_at = datetime.fromtimestamp(rows.path.stat().st_mtime)  # noqa: DTZ006

    def encode(self, text: str, *, add_bos: bool = False) -> list[int]:
        """Return the tokens of a text."""
        found: list[int] = self.words.tokenize(text.encode(), add_bos=add_bos, special=True)
        return found


def compare(run: Run, judged: JudgedRows, path: Path) -> dict[str, Any]:
    """Compare every row and return the counts; ends the stage if a row has other tokens."""
    name, everything = judged.path.name, run.read_rows(judged.path)
    rows = [row for row in everything if row["prompt"]] if judged.is_split else everything
    if not rows:
        run.stop(f"{name} has no row to compare transformers and llama.cpp by")
    vocabulary = Vocabulary(run, judged, path)
    wrong = [n for n, row in enumerate(rows, 1) if not judged.is_same(vocabulary, row)]
    if wrong:
        run.stop(
            f"llama.cpp reads {len(wrong):,} of {len(rows):,} rows as other tokens than the model"
            f" was trained on; the first are rows {wrong[:5]} of {name}"
        )
    found = {"version": 1, "judged": judged.path.stem, "compared_rows": len(rows)}
    run.say(f"all {len(rows):,} rows are the same tokens in transformers and in llama.cpp")
    if judged.is_split:
        found["later_pieces"] = len(everything) - len(rows)
        if found["later_pieces"]:
            run.say(f"{found['later_pieces']:,} later pieces of texts were not compared")
    if judged.count:
        found |= judged.count(vocabulary, rows)
    vocabulary.words.close()
    return found
