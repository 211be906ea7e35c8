"""The rules about regression checks: files that can be used, and a run that compares on them."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.resolve.regression import KINDS, list_kinds
from ftc.spec.message import Message

_POINTER: Final = "/training/evaluation/regression"
_OF_LINES: Final = frozenset({"regression.not_json", "regression.no_answer"})


@rule("FTC598", "unusable-regression-check", "error", reads=("data",))
def unusable_regression_check(case: Case) -> Iterator[Problem]:
    """What it is: A regression check names no file, several files, or one that cannot be used.

    Why it matters: The trained model is compared with the model before training on these files.
    Prompts are JSON Lines with `prompt` and `answer`, at least six. A text has at least 2,000
    characters. A task is a task file of the evaluation harness. A file that the model is trained on
    shows what it learned, and not what it lost.

    Example: {"data": "chats.jsonl",
     "training": {"evaluation": {"regression": [{"prompts": "chats.jsonl"}]}}}

    Use instead: {"data": "chats.jsonl",
     "training": {"evaluation": {"regression": [{"prompts": "arithmetic.jsonl"}]}}}
    """
    checks = case.spec.training.evaluation.regression
    for place, check in enumerate(checks):
        kinds, pointer = list_kinds(check), f"{_POINTER}/{place}"
        if len(kinds) != 1:
            yield problem(
                pointer,
                message="kinds" if kinds else "nothing",
                help="kinds",
                place=place + 1,
                kinds=kinds or list(KINDS),
            )
    for place, found in enumerate(case.data.regression):
        if found is not None and found.fault is not None:
            what = Message(found.fault.key, found.fault.values)
            help_ = "lines" if found.fault.key in _OF_LINES else ""
            yield problem(f"{_POINTER}/{place}", help=help_, place=place + 1, what=what)


@rule("FTC599", "regression-not-compared", "error", reads=("data", "plan"))
def regression_not_compared(case: Case) -> Iterator[Problem]:
    """What it is: There are regression checks, and the run could not use their files.

    Why it matters: evaluate.py uses them, and without a test split there is no evaluate.py.
    Rows with images are not supported. On Kubernetes and with SkyPilot the bundle runs on a machine
    that these files are not copied to.

    Example: {"data": {"source": "chats.jsonl", "splits": {"test": 0}},
     "training": {"evaluation": {"regression": [{"prompts": "arithmetic.jsonl"}]}}}

    Use instead: {"data": {"source": "chats.jsonl", "splits": {"test": 0.05}},
     "training": {"evaluation": {"regression": [{"prompts": "arithmetic.jsonl"}]}}}
    """
    if not case.spec.training.evaluation.regression:
        return
    if case.plan.decisions.splits.test_rows.value == 0:
        yield problem(_POINTER)
    if case.data.pictures is not None:
        yield problem(_POINTER, message="images", help="images")
    kind = case.spec.launch.type
    if kind in ("kubernetes", "skypilot"):
        yield problem(_POINTER, message="moved", help="moved", kind=kind)
