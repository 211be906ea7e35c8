"""The rules about answers that are compared: lengths, kinds, and the reference beside them."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.plan.batch import least_rows

_MOSTLY = 0.8
_CLEARLY_LONGER = 1.3
_FEW_OF_A_KIND = 0.05
_HEAVIEST = 4 / 3
_SLACK = 0.01


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


@rule("FTC271", "one-sided-feedback", "warning", reads=("data",))
def one_sided_feedback(case: Case) -> Iterator[Problem]:
    """What it is: Nearly all answers were found good, or nearly all bad.

    Why it matters: KTO learns from the difference. With one kind alone the model learns to find all
    answers likelier, or all of them less likely, whatever they say.

    Example: {"objective": "kto", "data": "only-thumbs-up.jsonl"}

    Use instead: {"objective": "sft", "data": "only-thumbs-up.jsonl"}
    """
    found = case.data.feedback
    if found is None:
        return
    total = max(1, found.desirable_rows + found.undesirable_rows)
    fewest = min(found.desirable_rows, found.undesirable_rows)
    if fewest < _FEW_OF_A_KIND * total:
        kind = "undesirable" if found.undesirable_rows == fewest else "desirable"
        yield Problem(
            message=f"{fewest:,} of {total:,} answers are {kind}",
            help="bring more of them, or use `sft` on the desirable ones",
            pointer="/data/source",
        )


@rule("FTC272", "unbalanced-feedback-weights", "warning", reads=("data", "plan"))
def unbalanced_feedback_weights(case: Case) -> Iterator[Problem]:
    """What it is: The weights let one kind of answers pull much harder than the other.

    Why it matters: KTO's paper keeps desirable answers, taken together, between the weight of
    undesirable ones and four thirds of it (arXiv 2402.01306, equation 8); beyond, the rarer kind is
    not heard, or drowns the other.

    Example: {"objective": {"type": "kto", "desirable_weight": 1, "undesirable_weight": 1},
     "data": "nine-thumbs-up-in-ten.jsonl"}

    Use instead: {"objective": "kto", "data": "nine-thumbs-up-in-ten.jsonl"}
    """
    found, d = case.data.feedback, case.plan.decisions
    if found is None or d.desirable_weight is None or d.undesirable_weight is None:
        return
    said = {d.desirable_weight.source, d.undesirable_weight.source}
    good = d.desirable_weight.value * found.desirable_rows
    bad = d.undesirable_weight.value * found.undesirable_rows
    sound = (1 - _SLACK) * bad <= good <= (_HEAVIEST + _SLACK) * bad
    if "spec" in said and good and bad and not sound:
        yield Problem(
            message=f"desirable answers weigh {good / bad:.2f} times what undesirable ones do, all "
            "taken together",
            help="leave both weights out, or keep that between 1 and 1.33",
            pointer="/objective/desirable_weight"
            if d.desirable_weight.source == "spec"
            else "/objective/undesirable_weight",
        )


@rule("FTC273", "test-without-both-kinds", "error", reads=("data", "plan"), fix_safety="unsafe")
def test_without_both_kinds(case: Case) -> Iterator[Problem]:
    """What it is: The test split is too small to hold a good and a bad answer.

    Why it matters: KTO's result is judged by whether it rewards good answers more than bad ones.
    `evaluate.py` has nothing to compare, and stops.

    Example: {"objective": "kto", "data": {"source": "three-thumbs-down-in-a-hundred.jsonl",
     "splits": {"test": 0.05}}}

    Use instead: {"objective": "kto", "data": {"source": "three-thumbs-down-in-a-hundred.jsonl",
     "splits": {"test": 0}}}
    """
    found, d = case.data.feedback, case.plan.decisions
    if found is None or d.test_rows.value < 1:
        return
    total = max(1, found.desirable_rows + found.undesirable_rows)
    fewest = min(found.desirable_rows, found.undesirable_rows)
    expected = fewest * d.test_rows.value / total
    if expected < 1:
        yield Problem(
            message=f"of {d.test_rows.value:,} test rows {expected:.1f} would be of the rarer kind",
            help="raise `data.splits.test`, bring more such rows, or hold none out for a test",
            pointer="/data/splits/test",
            fix=(put("/data/splits/test", 0),),
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


@rule("FTC561", "feedback-pass-of-one-row", "error", reads=("plan",))
def feedback_pass_of_one_row(case: Case) -> Iterator[Problem]:
    """What it is: KTO is to take one row per process and pass.

    Why it matters: It holds each answer to how far the model has moved on the answers to the other
    prompts of the pass. With one row there is none, and TRL refuses to start.

    Example: {"objective": "kto", "training": {"micro_batch": 1}}

    Use instead: {"objective": "kto", "training": {"micro_batch": 2}}
    """
    micro = case.plan.decisions.micro_batch.value
    if case.spec.objective.type == "kto" and micro < least_rows(case.spec):
        yield Problem(
            message="`kto` compares the rows of a pass, and a pass has one row",
            help="use at least 2 rows per process: raise `training.micro_batch`, or "
            "`training.global_batch`",
            pointer="/training/micro_batch"
            if "/training/micro_batch" in case.spec.said
            else "/training/global_batch",
        )
