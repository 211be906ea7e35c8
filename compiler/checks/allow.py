"""The codes that a spec allows: they must exist, and must not be errors."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from ftc.compiler.checks.pages import ERROR_ALLOWED, UNKNOWN_ALLOWED
from ftc.spec.finding import Finding
from ftc.spec.page import Page


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
