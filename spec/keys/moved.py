"""Reports what is wrong inside a section that a fix moves to its place, and fixes it too."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ftc.spec.findings.finding import Finding
from ftc.spec.keys.moving import read
from ftc.spec.patch import apply_patch

_MOST_FIXES: Final = 50
Find = Callable[[Mapping[str, Any]], Iterable[Finding]]


def find_inside(data: Mapping[str, Any], finding: Finding, find: Find) -> Iterator[Finding]:
    """Yield a finding and, if its fix moves a section, those inside that section.

    The fix then has their safe fixes too. Theirs are empty: they apply in the other place only.
    """
    place = next((each["path"] for each in finding.fix if _moves_section(data, each)), None)
    if place is None:
        yield finding
        return
    steps = tuple(finding.fix)
    inner = _inside(apply_patch(data, steps), place, find)
    left = inner
    for _ in range(_MOST_FIXES):
        fix = next((each.fix for each in left if each.fix and each.fix_safety == "safe"), None)
        if fix is None:
            break
        steps += tuple(fix)
        left = _inside(apply_patch(data, steps), place, find)
    yield replace(finding, fix=steps)
    for each in inner:
        pointer = finding.pointer + each.pointer.removeprefix(place)
        yield replace(each, pointer=pointer, fix=(), fix_safety="safe")


def _moves_section(data: Mapping[str, Any], step: Mapping[str, Any]) -> bool:
    return step["op"] == "move" and isinstance(read(data, step["from"]), Mapping)


def _inside(data: Mapping[str, Any], place: str, find: Find) -> list[Finding]:
    return [each for each in find(data) if each.pointer.startswith(f"{place}/")]
