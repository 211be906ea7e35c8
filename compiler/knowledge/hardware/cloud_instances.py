"""Finds the GPUs of a cloud instance by its name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ftc.compiler.knowledge.tables import read_table

_LONGEST: Final = 60
#: SageMaker's prefix of EC2 instance names.
_PREFIX: Final = "ml."


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A cloud instance; `gpu` is "" and `count` is 0 if the table knows only its maker."""

    maker: str
    gpu: str
    count: int


@cache
def find_instance(text: str) -> Instance | None:
    """Return the instance with a name such as `p4d.24xlarge`, or None for any other name."""
    name = text[: _LONGEST + 1].strip().lower().removeprefix(_PREFIX).replace(" ", "_")
    for maker in _read()["makers"]:
        if re.fullmatch(maker["pattern"], name):
            found: Mapping[str, Any] = next(
                (it for it in _read()["instances"] if re.fullmatch(it["pattern"], name)), {}
            )
            return Instance(
                maker=maker["maker"], gpu=found.get("gpu", ""), count=found.get("count", 0)
            )
    return None


@cache
def _read() -> Mapping[str, Any]:
    data: Mapping[str, Any] = read_table(__name__, "cloud_instances.json")
    return data
