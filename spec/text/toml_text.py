"""A spec that is written in TOML, which is not read: the finding says so, and has it as JSON."""

import json
import re
import tomllib

from ftc.spec.findings.file_explanations import BROKEN_JSON
from ftc.spec.text.document import Lines, Place
from ftc.spec.text.problems import Reading

_BEGINS = re.compile(
    r"""(?:\s|\#[^\n]*\n)*"""
    r"""(?:[\w."'-]+[ \t]*=|\[\[?[ \t]*[\w."'-]+[ \t]*\]\]?[ \t]*(?:\#[^\n]*)?\n)"""
)


def as_toml(text: str, reading: Reading) -> Reading:
    """Return the reading of a text that JSON refuses, if it is TOML.

    One finding then says so, with the same values as JSON for its fix.
    """
    if not _BEGINS.match(text):
        return reading
    try:
        data = tomllib.loads(text)
        json.dumps(data, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return reading
    start = Lines.of(text).position(len(text) - len(text.lstrip()))
    fix = ({"op": "replace", "path": "", "value": data},)
    told = BROKEN_JSON.finding(message="toml", help="toml", fix=fix).at(start)
    return Reading(data=data, positions={"": Place(value=start)}, findings=(told,))
