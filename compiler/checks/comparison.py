"""The rules about answers that are compared: their lengths, and the reference beside them."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule

_MOSTLY = 0.8
_CLEARLY_LONGER = 1.3


@rule("FTC270", "chosen-told-by-length", "warning", reads=("data",))
def chosen_told_by_length(case: Case) -> Iterator[Problem]:
    """What it is: In most pairs the chosen answer is the longer one, and by far.

    Why it matters: Length is then the easiest thing to tell the two apart by, and what the model
    learns first: its answers grow, better or not. The same holds where the shorter one is chosen.

    Example: {"objective": "dpo", "data": "best-of-n-by-a-reward-that-likes-long-answers.jsonl"}

    Use instead: {"objective": {"type": "dpo", "loss": "sigmoid_norm"},
     "data": "best-of-n-by-a-reward-that-likes-long-answers.jsonl"}
    """
    found = case.data.preferences
    if found is None:
        return
    chosen, rejected = max(1, found.chosen_p50), max(1, found.rejected_p50)
    longer = found.longer_share >= _MOSTLY and chosen >= _CLEARLY_LONGER * rejected
    shorter = found.longer_share <= 1 - _MOSTLY and rejected >= _CLEARLY_LONGER * chosen
    if longer or shorter:
        word = "longer" if longer else "shorter"
        share = found.longer_share if longer else 1 - found.longer_share
        yield Problem(
            message=f"the chosen answer is the {word} one in {share:.0%} of pairs ({chosen:,} "
            f"tokens against {rejected:,}): length alone tells them apart",
            help="add pairs of equal length, or set `objective.loss` to `sigmoid_norm`, which "
            "compares per token",
            pointer="/data/source",
        )


@rule("FTC560", "unfit-reference", "error")
def unfit_reference(case: Case) -> Iterator[Problem]:
    """What it is: An adapter is to be switched off and there is none, or the base of one is copied.

    Why it matters: A full fine-tune moves the weights themselves, so that nothing of the start is
    left to compare with. Under an adapter the base is in memory already and stays as it was: a copy
    of it would be the same numbers a second time.

    Example: {"method": "lora", "objective": {"type": "dpo", "reference": "copy"}}

    Use instead: {"method": "lora", "objective": {"type": "dpo", "reference": "adapter_off"}}
    """
    written, full = case.spec.objective.reference, case.spec.method.type in ("full", "freeze")
    if written == "adapter_off" and full:
        yield Problem(
            message="the reference is the base with its adapter switched off, and "
            f"`{case.spec.method.type}` trains no adapter",
            help="use `precomputed`, or `copy`",
            pointer="/objective/reference",
            fix=(put("/objective/reference", "precomputed"),),
        )
    if written == "copy" and not full:
        yield Problem(
            message=f"the reference is a copy of the base, which `{case.spec.method.type}` keeps "
            "in memory as it was",
            help="use `precomputed`, or `adapter_off`",
            pointer="/objective/reference",
            fix=(put("/objective/reference", "adapter_off"),),
        )
