"""The tasks of the evaluation harness in the version that bundles pin: groups and tags too."""

import json
from functools import cache
from importlib.resources import files


@cache
def list_tasks() -> frozenset[str]:
    """Return the names that the harness knows, as `.ci/harness_tasks.py` wrote them."""
    text = (files("ftc.compiler.knowledge") / "harness_tasks.json").read_text(encoding="utf-8")
    names, name = [], ""
    for each in json.loads(text)["tasks"]:
        shared, _, rest = each.partition(" ")
        name = name[: int(shared)] + rest
        names.append(name)
    return frozenset(names)
