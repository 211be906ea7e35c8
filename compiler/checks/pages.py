"""The pages of FTC070 to FTC072, which are about the rules themselves, and all pages."""

from typing import Final

from ftc.compiler.checks.rule import page_text
from ftc.spec.page import Page

UNKNOWN_ALLOWED: Final = Page(
    code="FTC070",
    name="unknown-code-allowed",
    severity="error",
    text=page_text(
        """What it is: `allow` names a code that no rule has.

Why it matters: A misspelt code silences nothing, and the warning meant stays or comes back unseen.

Example: {"allow": ["FTC999"]}

Use instead: {"allow": ["FTC220"]}"""
    ),
)
ERROR_ALLOWED: Final = Page(
    code="FTC071",
    name="error-allowed",
    severity="error",
    text=page_text(
        """What it is: `allow` names a rule whose findings are errors.

Why it matters: An error says that the run cannot work. Silencing it would only move the failure
to the machine that is paid for.

Example: {"allow": ["FTC420"]}

Use instead: {"allow": ["FTC421"]}"""
    ),
)
IDLE_ALLOWED: Final = Page(
    code="FTC072",
    name="nothing-to-allow",
    severity="info",
    text=page_text(
        """What it is: `allow` names a rule that finds nothing in this spec.

Why it matters: The reason is gone and the exception stays: the next time that the rule has
something to say, nobody hears it. Rules about what is within reach today, such as the Hub, are left
alone.

Example: {"training": {"warmup": 0.03}, "allow": ["FTC522"]}

Use instead: {"training": {"warmup": 0.03}}"""
    ),
)
ALLOW_PAGES: Final = (UNKNOWN_ALLOWED, ERROR_ALLOWED, IDLE_ALLOWED)
