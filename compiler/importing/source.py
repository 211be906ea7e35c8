"""A foreign file: its text, its tool, and its keys."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ftc.compiler.importing.command_line import is_command, read_command
from ftc.compiler.importing.config_text import UnreadableConfigError, read_documents
from ftc.compiler.importing.python_calls import UnreadableScriptError, read_notebook, read_script
from ftc.spec.tools.entry import Entry, flatten
from ftc.spec.tools.tables import TRL_SCRIPT, recognise

_UNSLOTH: Final = re.compile(r"(?im)^\s*(?:from|import)\s+unsloth|unsloth/|FastLanguageModel")
_SCRIPT: Final = re.compile(r"(?m)^(?:from\s+\S+\s+import\s|import\s+\w)")


class UnknownConfigError(ValueError):
    """The text is not a config that ftc knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignConfig:
    """The keys of a file, and its tool."""

    tool: str
    entries: tuple[Entry, ...]


def read_foreign(text: str, name: str = "") -> ForeignConfig:
    """Read a config by its form; `name` is the file's name.

    Raises UnreadableConfigError, UnreadableScriptError or UnknownConfigError.
    """
    low = name.lower()
    if low.endswith(".ipynb") or '"nbformat"' in text:
        cells = read_notebook(text)
        if cells is None:
            raise UnknownConfigError
        return _script(cells)
    if low.endswith(".py") or (
        not low.endswith((".yaml", ".yml", ".json")) and _SCRIPT.search(text)
    ):
        return _script([text])
    if low.endswith(".sh") or (not low.endswith((".yaml", ".yml", ".json")) and is_command(text)):
        entries = read_command(text)
        paths = [entry.path for entry in entries]
        tool = recognise([path for path in paths if path != "program"])
        if not tool:
            raise UnknownConfigError
        return ForeignConfig(tool=tool, entries=tuple(entries))
    return _config(text)


def read_registry(folder: Path, entries: tuple[Entry, ...]) -> Mapping[str, Any]:
    """Return LLaMA-Factory's list of data sets, from the folder that the config names.

    It is looked for beside the file and in the current folder. The key "" is the list's folder.
    """
    named = next((str(each.value) for each in entries if each.path == "dataset_dir"), "data")
    for start in (folder, Path()):
        path = start / named / "dataset_info.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(data, Mapping):
            return {**data, "": f"{(start / named).as_posix()}/"}
    return {}


def _script(cells: list[str]) -> ForeignConfig:
    entries = read_script(cells)
    if not any(entry.path == "trainer" for entry in entries):
        raise UnknownConfigError
    own = any(_UNSLOTH.search(cell) for cell in cells)
    return ForeignConfig(tool="unsloth" if own else TRL_SCRIPT, entries=tuple(entries))


def _config(text: str) -> ForeignConfig:
    """Read the first document that is a config."""
    documents = [each for each in read_documents(text) if isinstance(each, Mapping)]
    for index, document in enumerate(documents):
        entries = tuple(flatten(document))
        if tool := recognise([entry.path for entry in entries]):
            rest = (
                Entry(path=f"document {number + 1}.{entry.path}", value=entry.value)
                for number, other in enumerate(documents)
                if number != index
                for entry in flatten(other)
            )
            return ForeignConfig(tool=tool, entries=(*entries, *rest))
    raise UnknownConfigError


__all__ = [
    "ForeignConfig",
    "UnknownConfigError",
    "UnreadableConfigError",
    "UnreadableScriptError",
    "read_foreign",
    "read_registry",
]
