"""Validates data, and compares the result with what the schema says."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from ftc.spec.findings.finding import Finding
from ftc.spec.schema import read_schema
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.text.json_reader import read_json
from ftc.spec.validate import validate

FULL: dict[str, Any] = {
    "name": "support",
    "model": {"id": "m", "revision": None},
    "data": {
        "source": "a.csv",
        "columns": {"prompt": "q"},
        "cleaning": {},
        "splits": {"test": 0.2},
    },
    "objective": {"type": "sft"},
    "method": {"type": "lora", "rank": 8, "targets": ["q_proj"]},
    "training": {"epochs": 2, "evaluation": {"every_steps": 5}},
    "hardware": "2x A100-80GB",
    "distribution": "zero2",
    "export": ["Q4_K_M"],
    "allow": ["FTC101"],
}
CONFLICTS = {"FTC050", "FTC051", "FTC052", "FTC053", "FTC054", "FTC213", "FTC214", "FTC215"}


def document_of(data: Any) -> Document:
    """Return a document with the data, using the reader."""
    text = json.dumps(data, ensure_ascii=False)
    reading = read_json(text)
    assert not reading.findings
    return Document(
        name="-", folder=Path(), text=text, data=reading.data, positions=reading.positions
    )


def judge(data: Any) -> Spec | tuple[Finding, ...]:
    """Validate data, and compare the result with the schema."""
    document = document_of(data)
    judged = validate(document)
    found = () if isinstance(judged, Spec) else judged
    null = {("FTC033", "/data/source")} if says_null(data) else set()  # treated as missing
    clean = all(f.code in CONFLICTS or (f.code, f.pointer) in null for f in found)
    assert clean is valid_by_schema(data)
    for finding in judged if isinstance(judged, tuple) else ():
        assert finding.position is not None
        assert finding.message.isprintable(), finding
        assert finding.help.isprintable(), finding
    return judged


def says_null(data: Any) -> bool:
    """Whether the data's source, or its list of sources, is written and may be null."""
    inner = data.get("data") if isinstance(data, dict) else None
    return isinstance(inner, dict) and not inner.keys().isdisjoint({"source", "sources"})


def valid_by_schema(data: Any) -> bool:
    """Whether the plain library accepts the data; it lets `$` match before a line feed."""
    return "\\n" not in json.dumps(data) and bool(
        Draft202012Validator(read_schema()).is_valid(data)
    )


def refuse(data: Any) -> tuple[Finding, ...]:
    """Return the findings on a spec that is not valid."""
    judged = judge(data)
    assert not isinstance(judged, Spec)
    return judged
