"""A second fine-tune that starts from the result of the first: "dpo on prefs.jsonl after that"."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ftc.tui.state.draft import Draft, read_draft, written
from ftc.tui.understanding.reading import Change

#: Sections of the first spec that the second one starts with.
_SHARED: Final = ("method", "hardware", "distribution", "export", "tracking", "launch")
_LONGEST: Final = 50  # characters of the first name, so that the second has at most 63
_NAMING: Final = frozenset({"/objective/type", "/data/source", "/data/sources"})


def chain(first: Draft, changes: Sequence[Change]) -> Draft | None:
    """Return the draft of a second fine-tune; None if its data or the first name is missing.

    Its model is the result of the first bundle. The changes override the copied fields.
    """
    said = {change.pointer: change.value for change in changes}
    name = first.get("/name")
    if name is None or not _NAMING & said.keys():
        return None
    spec = written(first)
    step = said.get("/objective/type") or "next"
    second = read_draft({key: spec[key] for key in _SHARED if key in spec})
    start = (
        Change(pointer="/name", value=f"{name[:_LONGEST]}-{step}", words=""),
        Change(pointer="/model/id", value=f"./{name}", words=""),
    )
    kept = [change for change in changes if change.pointer not in ("/name", "/model/id")]
    return second.changed((*start, *kept))


def free_path(folder: Path, name: str) -> Path:
    """Return the path of a spec with a name, numbered if that file exists."""
    path = folder / f"{name}.json"
    number = 2
    while path.exists():
        path = folder / f"{name}-{number}.json"
        number += 1
    return path
