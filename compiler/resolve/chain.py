"""Chained runs: a model that is what another bundle makes, before that one has run and after."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from ftc.compiler.resolve.config import CONFIG_FILE
from ftc.compiler.resolve.facts import ModelFacts, TokenizerFacts
from ftc.compiler.resolve.place import at, is_file, is_path, relative
from ftc.spec.sections import Spec

RESULT: Final = "run/merged"
_LOCK: Final = "ftc.lock.json"
_DONE: Final = "run/done/merged.json"
_SPEC: Final = "spec.json"
_HALF_BYTES: Final = 2
F = TypeVar("F", ModelFacts, TokenizerFacts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRun:
    """The bundle that the spec names as its model; `merged` is where its result lies, or will."""

    folder: Path
    merged: Path
    has_run: bool


def find_first_run(spec: Spec, *, folder: Path) -> FirstRun | None:
    """Return the bundle that `model` names, by its lock; None where it names none."""
    name = spec.model.id
    if not is_path(name, folder=folder):
        return None
    place = at(name, folder=folder)
    if not is_file(place / _LOCK) or is_file(place / CONFIG_FILE):
        return None
    merged = place / RESULT
    has_run = is_file(place / _DONE) and is_file(merged / CONFIG_FILE)
    return FirstRun(folder=place, merged=merged, has_run=has_run)


def promised_model(first: FirstRun, name: str, *, folder: Path) -> ModelFacts | None:
    """Return the facts of what the bundle will make, from those of its own base in its lock.

    `merge.py` writes 16 bits: bfloat16 where the base is, else float16. None where the lock does
    not hold such facts.
    """
    base = _read_fact(first, "model", ModelFacts)
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
    """Return the tokenizer's facts from the bundle's lock: `merge.py` carries it over as it is."""
    facts = _read_fact(first, "tokenizer", TokenizerFacts)
    return None if facts is None else replace(facts, template_from_spec=False)


def base_of(first: FirstRun) -> str | None:
    """Return the model that the bundle starts from: an id of the Hub, or a path beside it."""
    try:
        model = json.loads((first.folder / _SPEC).read_text(encoding="utf-8"))["model"]
        name = model["id"] if isinstance(model, dict) else model
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None


def _read_fact(first: FirstRun, name: str, kind: type[F]) -> F | None:
    from msgspec import ValidationError, convert  # noqa: PLC0415 - only a chained spec pays for it

    try:
        lock = json.loads((first.folder / _LOCK).read_text(encoding="utf-8"))
        return convert(lock["facts"][name], kind)
    except (OSError, ValueError, KeyError, TypeError, ValidationError):
        return None
