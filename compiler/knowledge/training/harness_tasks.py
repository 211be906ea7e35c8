"""The tasks, groups and tags of the evaluation harness in the version that bundles pin."""

from functools import cache

from ftc.compiler.knowledge.tables import read_table


@cache
def list_tasks() -> frozenset[str]:
    """Return the names of the harness, as written by `.ci/harness_tasks.py`."""
    names, name = [], ""
    for each in read_table(__name__, "harness_tasks.json")["tasks"]:
        shared, _, rest = each.partition(" ")
        name = name[: int(shared)] + rest
        names.append(name)
    return frozenset(names)
