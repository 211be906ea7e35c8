"""The `tokenizer.json` of a model as it is saved, and the texts of records to try it with."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

from ..prepare.preparing import Records

ROWS: Final = 2000  # at most, that are encoded, decoded and compared


def find_tokenizer_file(model: Path | str, revision: str | None = None) -> Path | None:
    """Return the path of the model's `tokenizer.json`, or None; on the Hub, of its `revision`."""
    path = Path(model) / "tokenizer.json"
    if Path(model).is_dir():
        return path if path.is_file() else None
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - for the Hub only

    found = try_to_load_from_cache(str(model), "tokenizer.json", revision=revision)
    return Path(found) if isinstance(found, str) else None


def open_saved(path: Path, tokenizer: Any) -> Any:
    """Return the tokenizer of a file as it is saved, plus the added tokens of `tokenizer`."""
    saved = Tokenizer.from_file(str(path))
    saved.no_truncation()
    saved.no_padding()
    for _, token in sorted(tokenizer.added_tokens_decoder.items()):
        if saved.token_to_id(token.content) is None:
            saved.add_tokens([token])
    return saved


def draw_lines(records: Records, seed: int) -> Iterator[bytes]:
    """Return the lines of some records, which `seed` draws."""
    count = len(records.learned)
    drawn = random.Random(seed).sample(range(count), min(ROWS, count))  # noqa: S311 - a sample
    return records.read(sorted(drawn))


def read_texts(line: bytes, *, labelled: bool) -> list[str]:
    """Return the texts of a record, without its answer if that is a label."""
    row = json.loads(line.partition(b"\n")[0])
    if "messages" in row:
        return [text for turn in row["messages"] for text in _list_texts(turn["content"])]
    is_alone = labelled or "answer" not in row
    return [row["prompt"]] if is_alone else [row["prompt"], row["answer"]]


def _list_texts(content: Any) -> list[str]:
    """Return the texts of a message, which may consist of parts."""
    if isinstance(content, list):
        return [part["text"] for part in content if part.get("text")]
    return [content] if content else []
