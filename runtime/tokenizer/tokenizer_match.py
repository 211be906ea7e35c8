"""Checks that the loaded tokenizer encodes and decodes rows as `tokenizer.json` does.

The compiler has already checked that rows survive encoding and decoding with that file. But the
class that transformers loads can replace steps of the file, so prepare.py compares the two.
"""

from pathlib import Path
from typing import Any

from ..prepare.preparing import Records
from ..run import Run
from .saved_tokenizer import draw_lines, open_saved, read_texts


def match_tokenizer(
    run: Run,
    tokenizer: Any,
    path: Path | None,
    records: Records,
    *,
    seed: int,
    labelled: bool = False,
) -> dict[str, Any]:
    """Return how many rows were compared, and how many the two encode to different tokens.

    Ends the stage if the two decode any row to different texts. `seed` draws the
    records; if `labelled` is set, their answers are labels and are not compared.
    """
    loaded = type(tokenizer).__name__
    if path is None:
        run.say("warning: the tokenizer was not compared with its tokenizer.json, which is missing")
        return {"rows": 0, "other_rows": None}
    saved, rows, read, written = open_saved(path, tokenizer), 0, 0, 0
    for line in draw_lines(records, seed):
        if not (texts := read_texts(line, labelled=labelled)):
            continue
        found = tokenizer(texts, add_special_tokens=False)["input_ids"]
        expected = [each.ids for each in saved.encode_batch(texts, add_special_tokens=False)]
        said = [tokenizer.decode(ids, clean_up_tokenization_spaces=False) for ids in found]
        whole = saved.decode_batch(expected, skip_special_tokens=False)
        rows += 1
        read += found != expected
        written += list(map(str.strip, said)) != list(map(str.strip, whole))
    if written:
        run.stop(
            f"the tokenizer, which transformers loads as {loaded}, decodes {written:,} of {rows:,}"
            " rows differently from its tokenizer.json: use the tokenizer that the model came with"
        )
    if read:
        run.say(
            f"warning: transformers loads the tokenizer as {loaded}, which reads"
            f" {read:,} of {rows:,} rows as other tokens than tokenizer.json says"
        )
    run.say(f"{rows:,} rows are encoded and decoded as tokenizer.json says")
    return {"rows": rows, "other_rows": read}
