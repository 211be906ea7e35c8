"""The codes that a spec allows: they must exist, and must not be errors."""

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from ftc.compiler.checks.explanations import ERROR_ALLOWED, IDLE_ALLOWED, UNKNOWN_ALLOWED
from ftc.spec.findings.explanation import Explanation
from ftc.spec.findings.finding import Finding

#: Warnings that come and go with what is within reach: the Hub, the machine, earlier rehearsals.
_OF_THE_WORLD: Final = frozenset(
    {"FTC123", "FTC133", "FTC220", "FTC323", "FTC324", "FTC424", "FTC691"}
)


def find_idle(
    allow: Sequence[str], *, found: Collection[str], looked: Collection[str]
) -> Iterator[Finding]:
    """Yield a finding for each code that was looked for, and found nowhere."""
    for index, code in enumerate(allow):
        if code in looked and code not in found and code not in _OF_THE_WORLD:
            pointer = f"/allow/{index}"
            yield IDLE_ALLOWED.finding(
                pointer=pointer, fix=({"op": "remove", "path": pointer},), rule=code
            )


def check_allow(allow: Sequence[str], explanations: Sequence[Explanation]) -> Iterator[Finding]:
    """Yield a finding for each code of `allow` that silences nothing."""
    by_code = {each.code: each for each in explanations}
    for index, code in enumerate(allow):
        pointer = f"/allow/{index}"
        explanation = by_code.get(code)
        if explanation is None:
            near = get_close_matches(code, by_code, n=1)
            yield UNKNOWN_ALLOWED.finding(
                pointer=pointer,
                help="near" if near else "",
                rule=code,
                near=near[0] if near else "",
            )
        elif explanation.severity == "error":
            yield ERROR_ALLOWED.finding(
                pointer=pointer,
                fix=({"op": "remove", "path": pointer},),
                rule=code,
                name=explanation.name,
            )
