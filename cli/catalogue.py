"""The catalogue: the page of every finding's code, from all floors, in the order of the codes."""

from typing import Final

from ftc.compiler.checks.registry import PAGES as CHECKS
from ftc.compiler.resolve.pages import PAGES as RESOLVE
from ftc.compiler.verify.pages import PAGES as VERIFY
from ftc.compiler.write.pages import PAGES as WRITE
from ftc.spec.page import Page
from ftc.spec.pages import PAGES as SPEC

PAGES: Final[tuple[Page, ...]] = tuple(
    sorted((*SPEC, *RESOLVE, *CHECKS, *VERIFY, *WRITE), key=lambda page: page.code)
)
