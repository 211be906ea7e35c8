"""The rules about where training is followed (FTC550)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import re
from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case

#: What W&B, the Hub, Databricks, GitHub and others begin their keys with, or long hexadecimals.
_KEY: Final = re.compile(
    r"(wandb_v\d|hf_|dapi|gh[oprsu]_|github_pat_|sk-|xox[a-z]-|AKIA|eyJ)[A-Za-z0-9_.-]{12,}"
    r"|(local-)?[0-9a-fA-F]{32,}"
)


@rule("FTC550", "key-in-tracking", "error")
def key_in_tracking(case: Case) -> Iterator[Problem]:
    """What it is: The name of a project or of a run looks like an API key.

    Why it matters: The spec is written into the bundle and sent to the tracker, and is likely to be
    committed. A key that was in it has to be revoked.

    Example: {"tracking": {"type": "wandb", "project": "0123456789abcdef0123456789abcdef01234567"}}

    Use instead: {"tracking": {"type": "wandb", "project": "support"}}
    """
    tracking = case.spec.tracking
    for field, value in (("project", tracking.project), ("run", tracking.run)):
        if value is not None and _KEY.fullmatch(value):
            yield problem(f"/tracking/{field}", field=field)
