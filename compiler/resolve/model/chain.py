"""Chained runs: a model that is the result of another bundle, before or after that has run."""

import json
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final, TypeVar

from ftc.compiler.knowledge.bundle_stages import find_record
from ftc.compiler.resolve.facts import DataFacts, ModelFacts, TokenizerFacts
from ftc.compiler.resolve.local_paths import at, is_file, is_path, relative
from ftc.compiler.resolve.model.config import CONFIG_FILE
from ftc.compiler.resolve.stored_facts import restore_fact
from ftc.spec.sections import Model

RESULT: Final = "run/merged"
_LOCK: Final = "ftc.lock.json"
_SPEC: Final = "spec.json"
_HALF_BYTES: Final = 2
F = TypeVar("F", ModelFacts, TokenizerFacts, DataFacts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """The bundle that the spec names as its model; `merged` is the place of its result."""

    folder: Path
    merged: Path
    has_run: bool


def find_first_run(model: Model, *, folder: Path) -> FirstRun | None:
    """Return the bundle that `model` names, by its lock; None where it names none.

    A bundle is named by its own folder or by that of its result, `run/merged`.
    """
    name = model.id
    if not is_path(name, folder=folder):
        return None
    place = at(name, folder=folder)
    if not is_file(place / _LOCK):
        place = at(name_bundle(name), folder=folder)
    elif is_file(place / CONFIG_FILE):
        return None
    if not is_file(place / _LOCK):
        return None
    merged = place / RESULT
    has_run = find_record(place, "merge") is not None and is_file(merged / CONFIG_FILE)
    return FirstRun(folder=place, merged=merged, has_run=has_run)


def name_bundle(name: str) -> str:
    """Return a model's name without `run/merged` at its end: the bundle that it names."""
    name = name.rstrip("/") or name
    if PurePath(name).parts[-2:] != PurePath(RESULT).parts:
        return name
    return name.removesuffix(RESULT).rstrip("/") or "."


def promised_model(first: FirstRun, name: str, *, folder: Path) -> ModelFacts | None:
    """Return the facts of the bundle's result, from those of its base in its lock.

    `export.py` writes 16 bits: bfloat16 where the base is, else float16. None where the lock has no
    such facts.
    """
    base = read_fact(first, "model", ModelFacts)
    if base is None:
        return None
    return replace(
        base,
        id=name,
        origin="bundle",
        path=relative(first.merged, folder=folder),
        revision=None,
        dtype="bfloat16" if base.dtype == "bfloat16" else "float16",
        weights_bytes=_HALF_BYTES * base.parameters,
        quantized=None,
        gated=False,
    )


def promised_tokenizer(first: FirstRun) -> TokenizerFacts | None:
    """Return the tokenizer's facts from the bundle's lock: `export.py` carries it over as it is."""
    facts = read_fact(first, "tokenizer", TokenizerFacts)
    return None if facts is None else replace(facts, template_from_spec=False)


def base_of(first: FirstRun) -> str | None:
    """Return the model that the bundle starts from: an id of the Hub, or a path beside it."""
    try:
        model = json.loads((first.folder / _SPEC).read_text(encoding="utf-8"))["model"]
        name = model["id"] if isinstance(model, dict) else model
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def read_fact(first: FirstRun, name: str, kind: type[F]) -> F | None:
    """Return a fact of the bundle's lock; None where it has none."""
    from msgspec import ValidationError  # noqa: PLC0415 - only a chained spec pays for it

    try:
        lock = json.loads((first.folder / _LOCK).read_text(encoding="utf-8"))
        return restore_fact(lock["facts"][name], kind)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ValidationError):
        return None
