"""The rule about chained runs: a model that another bundle has not made yet."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.resolve.model.chain import name_bundle


@rule("FTC562", "first-run-to-come", "warning", reads=("model",), of_teacher=True)
def first_run_to_come(case: Case) -> Iterator[Problem]:
    """What it is: The model is the result of another bundle that has not run to its end.

    Why it matters: Two specs form a chain: the second one's `model` names the first one's bundle,
    and its scripts start from `run/merged` there. Until the first bundle has run, the plan uses its
    lock, and `prepare.py` stops because there is no model. `model` may also name `run/merged` in
    that bundle.

    Example: {"model": "./shop-assistant", "data": "preferences.jsonl", "objective": "dpo"}

    Use instead: {"model": "./shop-assistant", "data": "preferences.jsonl", "objective": "dpo",
     "allow": ["FTC562"]}
    """
    if case.model.origin == "bundle":
        name = name_bundle(case.spec.model.id)
        yield problem("/model/id", name=name)
