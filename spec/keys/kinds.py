"""Handles a section named by its kind: `"qlora": {"rank": 8}`, `"dpo": {"beta": 0.2}`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ftc.spec.findings.explanations import UNKNOWN_KEY
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import shown
from ftc.spec.normal import lengthen
from ftc.spec.pointer import dotted, join, parent, split
from ftc.spec.schema import fields_by_pointer, object_form, read_schema
from ftc.spec.values.expectation import words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A section, the field for its kind, and the word of the kind."""

    section: str
    field: str
    word: str


def report_kind(here: str, value: Any, data: Mapping[str, Any]) -> Finding | None:
    """Report an object whose key is a word of a section's short form; the fix adds the word."""
    kind = _find(split(here)[-1], parent(here)) if isinstance(value, Mapping) and value else None
    if kind is None or not isinstance(value, Mapping):
        return None
    place = join([kind.section])
    present = lengthen(kind.section, data.get(kind.section, {}))
    rest = dict(present) if isinstance(present, Mapping) else {}
    if parent(here) == place:
        rest.pop(split(here)[-1])
    schema = fields_by_pointer()[join([kind.section, kind.field])].schema
    stated = rest.get(kind.field, kind.word)
    coarser = schema.get("x-refines", {}).get(kind.word, ())
    fits = stated == kind.word or stated in coarser
    meant = {**rest, kind.field: kind.word, **value}
    steps: tuple[dict[str, Any], ...] = ()
    if fits and not rest.keys() & value.keys() and kind.field not in value:
        steps = ({"op": "add", "path": place, "value": meant},)
        if parent(here) != place:
            steps = ({"op": "remove", "path": here}, *steps)
    return UNKNOWN_KEY.finding(
        message="" if parent(here) else "spec",
        help="value" if steps else "otherwise",
        pointer=here,
        fix=steps,
        section=dotted(parent(here)),
        key=shown(split(here)[-1]),
        near=kind.section if steps else dotted(join([kind.section, kind.field])),
        meant=shown(json.dumps(meant, ensure_ascii=False)) if steps else kind.word,
    )


def _find(key: str, above: str) -> _Kind | None:
    """Return the kind that a key names, if only one section has it, or if the key is inside it.

    A section of the default kind needs no word for it.
    """
    word = key.casefold().replace("-", "_")
    found = []
    for section, schema in read_schema()["properties"].items():
        short = schema.get("x-short")
        if short is None or object_form(schema) is None or word == section:
            continue
        field = fields_by_pointer()[join([section, short])]
        is_open = word in ("auto", "none") or word == field.schema.get("default")
        if word in words_of(field.schema) and not is_open:
            found.append(_Kind(section=section, field=short, word=word))
    around = [each for each in found if join([each.section]) == above]
    meant = around or found
    return meant[0] if len(meant) == 1 else None
