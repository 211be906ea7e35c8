"""The repair of a spec: the fixes of its findings, on the text that the user wrote."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.message import reason_of
from ftc.spec.patch import PatchError, apply_patch, replaces_all
from ftc.spec.pointer import split
from ftc.splice import splice

#: Makes a fix's operations on a text; says whether its layout is still the user's.
Edit = Callable[[str, Sequence[Mapping[str, Any]]], tuple[str, bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """`fixed` are the findings whose fix was made; `faithful` whether the layout was kept."""

    text: str
    fixed: tuple[Finding, ...]
    faithful: bool

    def save(self, path: Path) -> None:
        """Replace the file in one step; a reader never sees half of it.

        A link stays one: the file that it leads to is replaced. Raises EnvironmentFailure where the
        folder cannot be written to.
        """
        path = path.resolve()
        staged = path.with_name(f".{path.name}.ftc")
        try:
            staged.write_bytes(self.text.encode("utf-8"))
            staged.chmod(path.stat().st_mode)
            staged.replace(path)
        except OSError as error:
            raise EnvironmentFailure(
                message=f"`{path}` cannot be replaced: {reason_of(error)}",
                help="make its folder writable, or repair a copy of the spec",
            ) from None


def repair(text: str, findings: Sequence[Finding], edit: Edit | None = None) -> Repaired:
    """Apply each finding's fix, in order; one that meets an earlier one is left to the next run.

    So is one that changes another place than the one that is wrong, beside one that changes the
    place itself: a run may be too large because of a rank that has a fix of its own. `edit` knows
    the text's format; without one it is JSON.
    """
    edit = edit or edit_json
    in_place = [finding for finding in findings if _is_in_place(finding)]
    elsewhere = [finding for finding in findings if finding not in in_place]
    first = _apply(text, in_place, edit)
    return first if first.fixed else _apply(text, elsewhere, edit)


def _apply(text: str, findings: Sequence[Finding], edit: Edit) -> Repaired:
    touched: set[tuple[str, ...]] = set()
    fixed: list[Finding] = []
    faithful = True
    for finding in findings:
        places = {place for operation in finding.fix for place in _places(operation)}
        if not places or any(_meet(place, other) for place in places for other in touched):
            continue
        try:
            text, kept = edit(text, finding.fix)
        except PatchError:
            continue
        touched |= places
        fixed.append(finding)
        faithful = faithful and kept
    return Repaired(text=text, fixed=tuple(fixed), faithful=faithful)


def edit_json(text: str, operations: Sequence[Mapping[str, Any]]) -> tuple[str, bool]:
    """Return the text with a fix applied, and whether its layout is still the user's."""
    if replaces_all(operations):  # the text may not be JSON
        return json.dumps(operations[0]["value"], indent=2, ensure_ascii=False) + "\n", False
    data = apply_patch(json.loads(text), operations)
    spliced = text
    try:
        for operation in operations:
            spliced = splice(spliced, operation)
        if json.loads(spliced) == data:
            return spliced, True
    except PatchError:
        pass
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n", False


def _places(operation: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """Return the pointers that an operation changes; where items of a list move, the whole list."""
    pointers = [operation["path"], *([operation["from"]] if "from" in operation else [])]
    places = (split(pointer) for pointer in pointers)
    stays = operation["op"] == "replace"
    return {keys[:-1] if keys and _is_index(keys[-1]) and not stays else keys for keys in places}


def _is_in_place(finding: Finding) -> bool:
    """Return whether a fix changes the place that the finding is about, or something in it."""
    place = split(finding.pointer)
    return any(_meet(place, other) for each in finding.fix for other in _places(each))


def _is_index(key: str) -> bool:
    return key == "-" or key.isdecimal()


def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
