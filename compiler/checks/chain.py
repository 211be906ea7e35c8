"""The rule about chained runs: a model that another bundle is still to make."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, rule


@rule("FTC562", "first-run-to-come", "warning", reads=("model",))
def first_run_to_come(case: Case) -> Iterator[Problem]:
    """What it is: The model is what another bundle makes, and that one has not run to its end.

    Why it matters: Runs are chained by two specs: the second one's `model` names the first one's
    bundle, and its scripts start from `run/merged` there. Until then the plan rests on the lock of
    the first, and `prepare.py` stops at once, since the model is not there yet.

    Example: {"model": "./shop-assistant", "data": "preferences.jsonl", "objective": "dpo"}

    Use instead: {"model": "./shop-assistant", "data": "preferences.jsonl", "objective": "dpo",
     "allow": ["FTC562"]}
    """
    if case.model.origin == "bundle":
        name = case.spec.model.id.rstrip("/")
        yield Problem(
            message=f"the bundle `{name}` has not run to its end, and its result is the model here",
            help=f"run `{name}/run.sh` before this bundle; until then the plan rests on its lock",
            pointer="/model/id",
        )
