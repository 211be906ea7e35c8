"""The reward for answers that are nothing but JSON that fits a schema."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema


def fit_schema(path: Path) -> Callable[..., list[float]]:
    """Return the function that rewards answers which fit the JSON Schema in a file."""
    schema = jsonschema.Draft202012Validator(json.loads(path.read_bytes()))

    def is_valid(text: str) -> bool:
        try:
            return bool(schema.is_valid(json.loads(text)))
        except (ValueError, RecursionError):
            return False

    def valid_json(completions: Sequence[str], **_: Any) -> list[float]:
        return [float(is_valid(said)) for said in completions]

    return valid_json
