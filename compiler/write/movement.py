"""The movement between two locks: what a new look at model, data and machine has changed."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ftc.compiler.write.lock import Lock

_SHOWN_LETTERS = 60


def moved(old: Lock, new: Lock) -> tuple[str, ...]:
    """Return one sentence for each fact and decision that differs, in the order of a run."""
    sentences: list[str] = []
    if old.ftc != new.ftc:
        sentences.append(f"compiled by ftc {new.ftc}, before by ftc {old.ftc}")
    sentences += _compare(old.facts, new.facts, "")
    before = {name: decision["value"] for name, decision in old.decisions.items()}
    after = {name: decision["value"] for name, decision in new.decisions.items()}
    sentences += _compare(before, after, "")
    if list(old.requirements) != list(new.requirements):
        gone = sorted(set(old.requirements) - set(new.requirements))
        come = sorted(set(new.requirements) - set(old.requirements))
        sentences.append(f"`requirements` lost {_show(gone)} and gained {_show(come)}")
    return tuple(sentences)


def _compare(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield a sentence per leaf; a list is a leaf, since its items have no names."""
    for name in (*new, *(name for name in old if name not in new)):
        path = f"{prefix}{name}"
        if name not in old:
            yield f"`{path}` is new"
        elif name not in new:
            yield f"`{path}` is gone"
        elif isinstance(old[name], dict) and isinstance(new[name], dict):
            yield from _compare(old[name], new[name], f"{path}.")
        elif old[name] != new[name]:
            yield _difference(path, old[name], new[name])


def _difference(path: str, old: Any, new: Any) -> str:
    before, after = _show(old), _show(new)
    if len(before) > _SHOWN_LETTERS or len(after) > _SHOWN_LETTERS:
        return f"`{path}` changed"
    return f"`{path}` was {before} and is {after}"


def _show(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
