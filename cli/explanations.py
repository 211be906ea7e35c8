"""The explanations of all codes, gathered from every part of ftc and sorted by code."""

from typing import Final

from ftc.compiler.checks.registry import EXPLANATIONS as CHECKS
from ftc.compiler.importing.explanations import EXPLANATIONS as IMPORTING
from ftc.compiler.resolve.explanations import EXPLANATIONS as RESOLVE
from ftc.compiler.verify.explanations import EXPLANATIONS as VERIFY
from ftc.compiler.write.explanations import EXPLANATIONS as WRITE
from ftc.spec.findings.explanation import Explanation
from ftc.spec.findings.explanations import EXPLANATIONS as SPEC

EXPLANATIONS: Final[tuple[Explanation, ...]] = tuple(
    sorted((*SPEC, *IMPORTING, *RESOLVE, *CHECKS, *VERIFY, *WRITE), key=lambda each: each.code)
)
