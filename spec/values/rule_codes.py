"""The code of a rule as people write it: `ftc421`, `421`, `warning[FTC421]`, or by its name."""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ftc.spec.values.nearest import is_certain, nearest

_CODE: Final = re.compile(r"FTC[\s_-]*(\d{3})(?!\d)", re.IGNORECASE)


def find_code(written: Any) -> str | None:
    """Return the code that a text or a number means, or None."""
    if not isinstance(written, str | int):
        return None
    names = _names()
    text = str(written).strip()
    said = {f"FTC{digits}" for digits in _CODE.findall(text)}
    if said:
        return said.pop() if len(said) == 1 else None
    if text.isdecimal():
        code = f"FTC{text.zfill(3)}"
        return code if code in names.values() else None
    near = nearest(text, names)
    return names[near] if near is not None and is_certain(text, near, names) else None


@cache
def _names() -> Mapping[str, str]:
    path = files("ftc.spec.values") / "rule_names.json"
    table: Mapping[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return table
