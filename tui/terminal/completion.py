"""Completes the word being typed: files of the folder, well-known models and GPUs."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from ftc.compiler.knowledge.hardware.accelerators import all_accelerators
from ftc.compiler.knowledge.well_known.models import model_ids

Kind = Literal["file", "model", "gpu"]

_WORD: Final = re.compile(r"[^\s,;\"'`()]+$")
_LEAST_LETTERS: Final = 2
#: The minimum length of a word that may match inside a name, not only at its beginning.
_LEAST_INSIDE: Final = 3
_MOST: Final = 6
_MOST_LISTED: Final = 2000
_ENDINGS: Final = frozenset({".csv", ".jsonl", ".json", ".parquet", ".yaml", ".yml", ".gguf"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A completion; `word` is the part that was typed."""

    kind: Kind
    name: str
    word: str

    @property
    def rest(self) -> str:
        """The rest of the name; empty unless the name starts with exactly this word."""
        return self.name[len(self.word) :] if self.name.startswith(self.word) else ""


def complete(before: str, folder: Path) -> tuple[Completion, ...]:
    """Return the completions of the last word of a text; names that begin with it come first.

    A word of one letter, a complete name and a bare number have no completions.
    """
    match = _WORD.search(before)
    word = match[0] if match else ""
    if len(word) < _LEAST_LETTERS or (word.isdecimal() and len(word) < _LEAST_INSIDE):
        return ()
    ranked: list[tuple[int, int, Completion]] = []
    for kind, name in _names(word, folder):
        rank = _rank(word.casefold(), name.casefold())
        if rank is not None and name != word:
            ranked.append((rank, len(ranked), Completion(kind=kind, name=name, word=word)))
    return tuple(found for _, _, found in sorted(ranked, key=lambda each: each[:2])[:_MOST])


def _rank(word: str, name: str) -> int | None:
    """Return 0 if a name begins with the word, 1 if a part does, 2 if it has the word inside."""
    if name.startswith(word):
        return 0
    if any(part.startswith(word) for part in re.split(r"[/\s-]", name)):
        return 1
    return 2 if len(word) >= _LEAST_INSIDE and word in name else None


def _names(word: str, folder: Path) -> Iterator[tuple[Kind, str]]:
    yield from (("file", name) for name in _files(word, folder))
    yield from _known()


@cache
def _known() -> tuple[tuple[Kind, str], ...]:
    models: tuple[tuple[Kind, str], ...] = tuple(("model", each) for each in model_ids())
    return (*models, *(("gpu", each.name) for each in all_accelerators()))


def _files(word: str, folder: Path) -> Iterator[str]:
    """Yield the data files, specs and folders in the folder that the word names."""
    inside = word.rpartition("/")[0]
    place = folder / inside if inside else folder
    try:
        names = _listed(place, place.stat().st_mtime_ns)
    except (OSError, ValueError):
        return
    yield from (f"{inside}/{name}" if inside else name for name in names)


@lru_cache(maxsize=1)
def _listed(place: Path, _changed_ns: int) -> tuple[str, ...]:
    """Return the names in a folder, cached until its modification time changes."""
    names = []
    with os.scandir(place) as entries:
        for entry in islice(entries, _MOST_LISTED):
            if entry.name.startswith("."):
                continue
            if Path(entry.name).suffix.lower() in _ENDINGS:
                names.append(entry.name)
            elif entry.is_dir():
                names.append(f"{entry.name}/")
    return tuple(sorted(names))
