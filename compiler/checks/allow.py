"""The codes that a spec allows: they must exist, and must not be errors."""

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from ftc.compiler.checks.pages import ERROR_ALLOWED, IDLE_ALLOWED, UNKNOWN_ALLOWED
from ftc.spec.finding import Finding
from ftc.spec.page import Page

#: Warnings that come and go with what is within reach: the Hub, the machine, earlier rehearsals.
_OF_THE_WORLD: Final = frozenset(
    {"FTC123", "FTC133", "FTC220", "FTC323", "FTC324", "FTC424", "FTC690", "FTC691"}
)


def find_idle(
    allow: Sequence[str], *, found: Collection[str], looked: Collection[str]
) -> Iterator[Finding]:
    """Yield a finding for each code that was looked for, and found nowhere."""
    for index, code in enumerate(allow):
        if code in looked and code not in found and code not in _OF_THE_WORLD:
            pointer = f"/allow/{index}"
            yield IDLE_ALLOWED.finding(
                message=f"`{code}` is allowed and finds nothing here",
                help="remove it from `allow`",
                pointer=pointer,
                fix=({"op": "remove", "path": pointer},),
            )


def check_allow(allow: Sequence[str], pages: Sequence[Page]) -> Iterator[Finding]:
    """Yield a finding for each code of `allow` that silences nothing."""
    by_code = {page.code: page for page in pages}
    for index, code in enumerate(allow):
        pointer = f"/allow/{index}"
        page = by_code.get(code)
        if page is None:
            near = get_close_matches(code, by_code, n=1)
            hint = f"did you mean `{near[0]}`? " if near else ""
            yield UNKNOWN_ALLOWED.finding(
                message=f"no rule has the code `{code}`",
                help=f"{hint}`ftc explain --list` names every code",
                pointer=pointer,
            )
        elif page.severity == "error":
            yield ERROR_ALLOWED.finding(
                message=f"`{code}` ({page.name}) is an error, which cannot be allowed",
                help=f"remove it from `allow`; `ftc explain {code}` says what to do instead",
                pointer=pointer,
                fix=({"op": "remove", "path": pointer},),
            )
