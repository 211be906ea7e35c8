"""Lists in a field that takes one value, beside which another field takes several (`x-several`)."""

from collections.abc import Mapping
from typing import Any

from ftc.spec.findings.explanations import WRONG_TYPE
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote
from ftc.spec.pointer import parent
from ftc.spec.schema import fields_by_pointer
from ftc.spec.values.repair import find_repair
from ftc.spec.values.verdict import Violation, is_valid


def report_several(violation: Violation, data: Mapping[str, Any], pattern: str) -> Finding | None:
    """Report a list of values whose field has another one for lists: `"source": ["a", "b"]`.

    `pattern` is the pointer of the value in the long form. A list of one value is that value.
    """
    value, field = violation.value, fields_by_pointer().get(pattern)
    name = field.schema.get("x-several") if field is not None else None
    is_short = violation.pointer != pattern  # the whole section is the list
    if name is None or not isinstance(value, list) or (len(value) == 1 and not is_short):
        return None
    here, place = violation.pointer, f"{parent(pattern)}/{name}"
    schema = fields_by_pointer()[place].schema
    repair = None if is_valid(value, schema) else find_repair(value, schema)
    listed = value if repair is None else repair.value
    fix: tuple[dict[str, Any], ...] = (
        {"op": "add", "path": place, "value": listed},
        {"op": "remove", "path": here},
    )
    if is_short:
        fix = ({"op": "replace", "path": here, "value": {name: listed}},)
    is_taken = not is_short and name in data[pattern.split("/")[1]]
    is_plain = bool(value) and all(isinstance(each, str | Mapping) for each in value)
    return WRONG_TYPE.finding(
        help="sources",
        pointer=here,
        fix=fix if is_plain and not is_taken else (),
        name=violation.name,
        value=quote(value),
    )
