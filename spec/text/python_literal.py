"""A spec that is written as a Python dictionary: single quotes, `True`, `None`, tuples."""

import ast
import json
import warnings
from typing import Any

from ftc.spec.findings.file_explanations import DUPLICATE_KEY, QUOTES
from ftc.spec.text.document import Lines, Place
from ftc.spec.text.json_reader import read_json
from ftc.spec.text.problems import Reading


def as_python(text: str, reading: Reading) -> Reading:
    """Return the reading of a text that JSON refuses for its quotes, if it is a Python dictionary.

    One finding then says so, with the same values as JSON for its fix. A few single quotes among
    double ones are slips in JSON, each with its place.
    """
    single = sum(finding.code == QUOTES.code for finding in reading.findings)
    is_json = reading.certain and not reading.stopped and 2 * single < text.count('"')
    if not single or is_json:
        return reading
    data = _evaluate(text)
    if data is None:
        return reading
    start = Lines.of(text).position(len(text) - len(text.lstrip()))
    fix = ({"op": "replace", "path": "", "value": data},)
    told = QUOTES.finding(message="python", help="python", fix=fix).at(start)
    return Reading(
        data=data,
        positions={"": Place(value=start)} if reading.stopped else reading.positions,
        findings=(told, *(each for each in reading.findings if each.code == DUPLICATE_KEY.code)),
    )


def _evaluate(text: str) -> dict[str, Any] | None:
    """Parse a text as a Python dictionary; return it with JSON types, or None if it is not one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            value = ast.literal_eval(text.strip())
        again = read_json(json.dumps(value))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return again.data if isinstance(value, dict) and not again.findings else None
