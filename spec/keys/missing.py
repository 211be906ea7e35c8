"""Required keys that are missing; the name of a run is proposed from its data."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ftc.spec.findings.explanations import MISSING_KEY
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import shown
from ftc.spec.normal import lengthen
from ftc.spec.pointer import dotted, split
from ftc.spec.schema import Schema
from ftc.spec.tools.translation import make_name

_PARTS: Final = re.compile(r"[/\\]")


def report_missing(here: str, section: Mapping[str, Any], field: Schema) -> Finding:
    """Report a missing key with an example value; for `name`, propose one from the data."""
    key = split(here)[-1]
    name = _propose_name(section) if here == "/name" else ""
    example = json.dumps(name or field["examples"][0], ensure_ascii=False)
    finding = MISSING_KEY.finding(
        pointer=here,
        fix=({"op": "add", "path": here, "value": name},) if name else (),
        key=dotted(here),
        last=key,
        example=shown(example),
    )
    return replace(finding, fix_safety="unsafe") if name else finding


def _propose_name(spec: Mapping[str, Any]) -> str:
    """Return a name for a run from its file or data set, or "" if the spec names none."""
    data = lengthen("data", spec.get("data"))
    source = data.get("source") if isinstance(data, Mapping) else None
    last = _PARTS.split(source.strip())[-1] if isinstance(source, str) else ""
    stem = last.partition(".")[0]
    return make_name(stem) if re.search("[A-Za-z0-9]", stem) else ""
