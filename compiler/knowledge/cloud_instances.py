"""The GPUs of cloud instances, by the names of these."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

_LONGEST: Final = 60
#: What SageMaker writes before a name of EC2.
_PREFIX: Final = "ml."


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A cloud instance; `gpu` is "" and `count` 0 where the table knows only whose it is."""

    maker: str
    gpu: str
    count: int


@cache
def find_instance(text: str) -> Instance | None:
    """Return the instance that a name such as `p4d.24xlarge` means, or None if it is none."""
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
    text = (files("ftc.compiler.knowledge") / "cloud_instances.json").read_text(encoding="utf-8")
    data: Mapping[str, Any] = json.loads(text)
    return data
