"""The explanations of FTC070 to FTC072, the codes about `allow`."""

from typing import Final

from ftc.compiler.checks.rule import explanation_text
from ftc.spec.findings.explanation import Explanation

UNKNOWN_ALLOWED: Final = Explanation(
    code="FTC070",
    name="unknown-code-allowed",
    severity="error",
    text=explanation_text(
        """What it is: `allow` names a code that no rule has.

Why it matters: A misspelt code silences nothing: the warning that was meant stays.

Example: {"allow": ["FTC999"]}

Use instead: {"allow": ["FTC220"]}"""
    ),
)
ERROR_ALLOWED: Final = Explanation(
    code="FTC071",
    name="error-allowed",
    severity="error",
    text=explanation_text(
        """What it is: `allow` names a rule whose findings are errors.

Why it matters: An error says that the run cannot work. Without it the run would fail later, on a
machine that is paid for.

Example: {"allow": ["FTC420"]}

Use instead: {"allow": ["FTC421"]}"""
    ),
)
IDLE_ALLOWED: Final = Explanation(
    code="FTC072",
    name="nothing-to-allow",
    severity="info",
    text=explanation_text(
        """What it is: `allow` names a rule that finds nothing in this spec.

Why it matters: The reason for the exception no longer exists, and the exception would hide the
next finding of that rule. Rules that depend on what is available today, such as the Hub, are not
reported.

Example: {"training": {"warmup": 0.03}, "allow": ["FTC522"]}

Use instead: {"training": {"warmup": 0.03}}"""
    ),
)
ALLOW_EXPLANATIONS: Final = (UNKNOWN_ALLOWED, ERROR_ALLOWED, IDLE_ALLOWED)
