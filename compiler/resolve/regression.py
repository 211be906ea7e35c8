"""The files of regression checks: what each holds, or why it cannot be used."""

import hashlib
import io
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.detail_facts import RegressionFault, RegressionFile
from ftc.compiler.resolve.facts import DataFacts
from ftc.compiler.resolve.local_paths import at, is_file, read_pointer, relative
from ftc.runtime.metric.numeric_match import find_last_number
from ftc.spec.sections import RegressionCheck, Spec

KINDS: Final = ("prompts", "text", "task")
#: Questions that a check needs at least: with fewer differences no model is worse (sign test).
LEAST_PROMPTS: Final = 6
LEAST_CHARACTERS: Final = 2000
_MOST_BYTES: Final = 64 * 1024 * 1024
#: What says where the questions of a task are.
_TASK_SOURCES: Final = ("dataset_path", "custom_dataset", "include", "class")


class RegressionFileError(ValueError):
    """A file cannot be used; `key` and `values` are those of a sentence of `spec/messages`."""

    def __init__(self, key: str, **values: str | int) -> None:
        """Keep the key and the values."""
        super().__init__(key)
        self.key = key
        self.values = values


def list_kinds(check: RegressionCheck) -> list[str]:
    """Return the kinds that a check sets: one, in a spec without errors."""
    return [kind for kind in KINDS if getattr(check, kind) is not None]


def find_path(check: RegressionCheck) -> str:
    """Return the path of a check as it is written."""
    return str(getattr(check, list_kinds(check)[0]))


def look_at_files(
    spec: Spec, data: DataFacts, *, folder: Path
) -> tuple[RegressionFile | None, ...]:
    """Return what the file of each check holds; None for a check without exactly one kind."""
    learned = [part for part in data.sources or (data,) if part.origin == "file"]
    found: list[RegressionFile | None] = []
    for check in spec.training.evaluation.regression:
        if len(list_kinds(check)) != 1:
            found.append(None)
            continue
        path = at(find_path(check), folder=folder)
        near = relative(path, folder=folder)
        try:
            items, digest = _read(check, path, learned, folder)
        except RegressionFileError as error:
            fault = RegressionFault(key=error.key, values=error.values)
            found.append(RegressionFile(path=near, fault=fault))
        else:
            found.append(RegressionFile(path=near, sha256=digest, items=items))
    return tuple(found)


def _read(
    check: RegressionCheck, path: Path, learned: Sequence[DataFacts], folder: Path
) -> tuple[int, str]:
    """Return how many questions or characters a file has, and its SHA-256."""
    name = find_path(check)
    try:
        if not is_file(path):
            raise RegressionFileError("regression.missing", name=name)
        if read_pointer(path) is not None:
            raise RegressionFileError("regression.pointer", name=name)
        if path.stat().st_size > _MOST_BYTES:
            raise RegressionFileError("regression.large", name=name)
        content = path.read_bytes()
    except OSError as error:
        raise RegressionFileError("regression.unreadable", name=name) from error
    digest = hashlib.sha256(content).hexdigest()
    if any(_is_learned(path, digest, part, folder) for part in learned):
        raise RegressionFileError("regression.learned", name=name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RegressionFileError("regression.not_utf8", name=name) from error
    if not text.strip() or "\0" in text:
        key = "regression.not_utf8" if text.strip() else "regression.empty"
        raise RegressionFileError(key, name=name)
    if check.prompts is not None:
        return _count_prompts(text, name, numbers=check.metric == "numeric_match"), digest
    if check.task is not None:
        _check_task(text, name)
        return 0, digest
    if len(text.strip()) < LEAST_CHARACTERS:
        raise RegressionFileError("regression.short", name=name, least=LEAST_CHARACTERS)
    return len(text), digest


def _is_learned(path: Path, digest: str, part: DataFacts, folder: Path) -> bool:
    """Return whether a file is one that the model is trained on, or a copy of it."""
    same = part.path is not None and path.resolve() == (folder / part.path).resolve()
    return same or digest == part.sha256


def _count_prompts(text: str, name: str, *, numbers: bool) -> int:
    """Return how many questions JSON Lines hold; each has a prompt and an answer."""
    count = 0
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RegressionFileError("regression.not_json", name=name, line=number) from error
        texts = [row.get(key) if isinstance(row, Mapping) else None for key in ("prompt", "answer")]
        if not all(isinstance(each, str) and each.strip() for each in texts):
            raise RegressionFileError("regression.no_answer", name=name, line=number)
        if numbers and find_last_number(str(texts[1])) is None:
            raise RegressionFileError("regression.no_number", name=name, line=number)
        count += 1
    if count < LEAST_PROMPTS:
        raise RegressionFileError("regression.few", name=name, rows=count, least=LEAST_PROMPTS)
    return count


def _check_task(text: str, name: str) -> None:
    """Raise RegressionFileError unless a text is a task of the evaluation harness."""
    task = _read_task(text, name)
    named = isinstance(task, Mapping) and isinstance(task.get("task"), str)
    if not named or not _names_source(task):
        raise RegressionFileError("regression.not_task", name=name)


def _names_source(task: Collection[str]) -> bool:
    return any(key in task for key in _TASK_SOURCES)


def _read_task(text: str, name: str) -> Any:
    """Return what a YAML text says; its own tags, such as `!function`, are not followed."""
    import yaml  # noqa: PLC0415 - needed only for such a check

    class Loader(yaml.SafeLoader):
        """A loader that accepts any tag."""

    Loader.add_multi_constructor("!", lambda *_: None)
    try:
        return yaml.load(text, Loader=Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RegressionFileError("regression.not_yaml", name=name) from error
