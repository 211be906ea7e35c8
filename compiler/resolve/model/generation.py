"""Finds values of a model's `generation_config.json` that stop transformers."""

import json
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.architectures.stopping_values import stops_answers
from ftc.compiler.knowledge.objectives import Head
from ftc.compiler.resolve import explanations
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote

GENERATION_FILE: Final = "generation_config.json"


def find_generation_fault(folder: Path, name: str, *, head: Head) -> Finding | None:
    """Return the first fault of the settings for answers; None without a file.

    Only a model that writes text is loaded with its settings; a merge reads the file of any model.
    """
    path = folder / GENERATION_FILE
    if not path.is_file():
        return None
    try:
        settings = json.loads(path.read_bytes().decode("utf-8"))
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        return explanations.BROKEN_CONFIG.finding(
            message="generation", help="generation", name=name
        )
    faults = (each for each in settings.items() if head == "tokens" and stops_answers(*each))
    key, value = next(faults, (None, None))
    if key is None:
        return None
    return explanations.BROKEN_CONFIG.finding(
        message="generation_value", help="generation", name=name, key=key, value=quote(value)
    )
