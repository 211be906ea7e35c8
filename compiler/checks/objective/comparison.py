"""The rules about answers that are compared: lengths, kinds, and the reference beside them."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import has_teacher
from ftc.compiler.plan.batch.sizes import least_rows
from ftc.compiler.plan.objective.sampling import rewarded
from ftc.spec.sections import Objective
from ftc.spec.sources import list_sources

_MOSTLY = 0.8
_CLEARLY_LONGER = 1.3
_FEW_OF_A_KIND = 0.05
_HEAVIEST = 4 / 3
_SLACK = 0.01


def compares_per_token(objective: Objective) -> bool:
    """Return whether the loss compares mean log-probabilities of tokens, not their sums."""
    return objective.type == "simpo" or (
        objective.type == "dpo" and objective.loss == "sigmoid_norm"
    )


@rule("FTC270", "chosen-told-by-length", "warning", reads=("data",))
def chosen_told_by_length(case: Case) -> Iterator[Problem]:
    """What it is: In most pairs the chosen answer is much longer, or much shorter, than the other.

    Why it matters: Length is the easiest way to tell the two answers apart, so the model learns it
    first: its answers become longer (or shorter), whether or not they are better.

    Example: {"objective": "dpo", "data": "best-of-n-by-a-reward-that-likes-long-answers.jsonl"}

    Use instead: {"objective": {"type": "dpo", "loss": "sigmoid_norm"},
     "data": "best-of-n-by-a-reward-that-likes-long-answers.jsonl"}
    """
    found, objective = case.data.preferences, case.spec.objective
    if found is None or compares_per_token(objective):
        return
    chosen, rejected = max(1, found.chosen_p50), max(1, found.rejected_p50)
    longer = found.longer_share >= _MOSTLY and chosen >= _CLEARLY_LONGER * rejected
    shorter = found.longer_share <= 1 - _MOSTLY and rejected >= _CLEARLY_LONGER * chosen
    if longer or shorter:
        share = found.longer_share if longer else 1 - found.longer_share
        yield problem(
            "/data/source",
            message="" if longer else "shorter",
            help="" if objective.type == "dpo" else "pairs",
            share=share,
            chosen=chosen,
            rejected=rejected,
        )


@rule("FTC271", "one-sided-feedback", "warning", reads=("data", "plan"))
def one_sided_feedback(case: Case) -> Iterator[Problem]:
    """What it is: Nearly all answers are marked as good, or nearly all as bad.

    Why it matters: KTO learns from the difference between the two kinds. With only one kind the
    model learns to make every answer likelier, or every answer less likely, whatever it says.

    Example: {"objective": "kto", "data": "only-thumbs-up.jsonl"}

    Use instead: {"objective": "sft", "data": "only-thumbs-up.jsonl"}
    """
    found = case.data.feedback
    if found is None:
        return
    total = max(1, found.desirable_rows + found.undesirable_rows)
    fewest = min(found.desirable_rows, found.undesirable_rows)
    absent = fewest == 0 and case.plan.decisions.splits.test_rows.value >= 1  # which FTC273 reports
    if fewest < _FEW_OF_A_KIND * total and not absent:
        yield problem(
            "/data/source",
            fewest=fewest,
            total=total,
            message="" if found.undesirable_rows == fewest else "desirable",
        )


@rule("FTC513", "neutral-feedback-as-bad", "warning", reads=("data",))
def neutral_feedback_as_bad(case: Case) -> Iterator[Problem]:
    """What it is: Labels are 1, 0 and -1, and both 0 and -1 are read as a bad answer.

    Why it matters: In such a file 0 usually means that nobody judged the answer, or that it is
    neither good nor bad. The model would learn to avoid these answers.

    Example: {"objective": "kto", "data": "thumbs-up-none-and-down.jsonl"}

    Use instead: {"objective": "kto", "data": "thumbs-up-and-down.jsonl"}
    """
    neutral = case.data.contents.neutral_rows
    if neutral and case.data.feedback is not None:
        pointer = "/data/columns/label" if case.spec.data.columns.label else "/data/source"
        yield problem(pointer, rows=neutral, column=case.data.label or "")


@rule("FTC505", "scores-against-the-pairs", "warning", reads=("data",))
def scores_against_the_pairs(case: Case) -> Iterator[Problem]:
    """What it is: By other columns of the data, the rejected answer of a pair is the better one.

    Why it matters: Training reads which column is chosen, and no scores or names of winners. From
    such a pair the model learns to prefer the worse answer. Where most pairs are so, the columns
    are exchanged, or a low score is a good one.

    Example: {"objective": "dpo", "data": "pairs-with-score_chosen-below-score_rejected.jsonl"}

    Use instead: {"objective": "dpo", "data": "pairs-with-score_chosen-above-score_rejected.jsonl"}
    """
    parts = case.data.sources or (case.data,)
    for source, data in zip(list_sources(case.spec.data), parts, strict=False):
        if (found := data.contents.pair_scores) is not None:
            kind = "most" if found.contradicted >= _MOSTLY * found.compared else ""
            yield problem(
                source.at("source"),
                message="named" if found.rejected is None else "",
                help="named" if found.rejected is None else kind,
                name=source.source,
                count=found.contradicted,
                rows=found.compared,
                chosen=found.chosen,
                rejected=found.rejected or "",
                first=found.first,
            )


@rule("FTC272", "unbalanced-feedback-weights", "warning", reads=("data", "plan"))
def unbalanced_feedback_weights(case: Case) -> Iterator[Problem]:
    """What it is: The weights give one kind of answers far more influence than the other.

    Why it matters: KTO's paper keeps the total weight of desirable answers between one and four
    thirds of that of undesirable ones (arXiv 2402.01306, equation 8). Outside of that range one
    kind dominates the loss.

    Example: {"objective": {"type": "kto", "desirable_weight": 1, "undesirable_weight": 1},
     "data": "nine-thumbs-up-in-ten.jsonl"}

    Use instead: {"objective": "kto", "data": "nine-thumbs-up-in-ten.jsonl"}
    """
    found, d = case.data.feedback, case.plan.decisions
    if (
        found is None
        or d.comparison.desirable_weight is None
        or d.comparison.undesirable_weight is None
    ):
        return
    said = {d.comparison.desirable_weight.source, d.comparison.undesirable_weight.source}
    good = d.comparison.desirable_weight.value * found.desirable_rows
    bad = d.comparison.undesirable_weight.value * found.undesirable_rows
    sound = (1 - _SLACK) * bad <= good <= (_HEAVIEST + _SLACK) * bad
    if "spec" in said and good and bad and not sound:
        yield problem(
            "/objective/desirable_weight"
            if d.comparison.desirable_weight.source == "spec"
            else "/objective/undesirable_weight",
            times=good / bad,
        )


@rule("FTC273", "test-without-both-kinds", "error", reads=("data", "plan"), fix_safety="unsafe")
def test_without_both_kinds(case: Case) -> Iterator[Problem]:
    """What it is: The test split is too small to contain both a good and a bad answer.

    Why it matters: KTO's result is measured by whether good answers are rewarded more than bad
    ones. Without both kinds `evaluate.py` has nothing to compare and stops.

    Example: {"objective": "kto", "data": {"source": "three-thumbs-down-in-a-hundred.jsonl",
     "splits": {"test": 0.05}}}

    Use instead: {"objective": "kto", "data": {"source": "three-thumbs-down-in-a-hundred.jsonl",
     "splits": {"test": 0}}}
    """
    found, d = case.data.feedback, case.plan.decisions
    if found is None or d.splits.test_rows.value < 1:
        return
    total = max(1, found.desirable_rows + found.undesirable_rows)
    fewest = min(found.desirable_rows, found.undesirable_rows)
    label = "true" if found.desirable_rows == fewest else "false"
    expected = fewest * d.splits.test_rows.value / total
    if fewest == 0:
        yield problem("/data/splits/test", message="none", help="none", label=label)
    elif expected < 1:
        yield problem(
            "/data/splits/test",
            fix=(put("/data/splits/test", 0),),
            rows=d.splits.test_rows.value,
            few=expected,
            label=label,
        )


def _sound_betas(case: Case) -> tuple[float, float]:
    """Return the lowest and the highest beta of published runs.

    DPO, KTO, ORPO and CPO: 0.01 to 1 around 0.1. A loss per token: 0.5 to 20 around 5 (Tulu 3),
    and 2 to 10 (SimPO).
    The KL penalty of GRPO and RLOO: up to 0.5, most often 0.001 to 0.05.
    """
    objective = case.spec.objective
    if rewarded(case.spec.objective):
        return 1e-4, 0.5
    if compares_per_token(objective):
        return 0.5, 20.0
    return 0.01, 1.0


@rule("FTC539", "beta-off-scale", "warning", reads=("plan",), fix_safety="unsafe")
def beta_off_scale(case: Case) -> Iterator[Problem]:
    """What it is: `objective.beta` is far outside of the values of published runs.

    Why it matters: With a high beta a model stays at its reference (`dpo`, `kto`, `grpo`), or
    learns the preference and forgets the answers (`orpo`, `cpo`, `simpo`). With a low one it drifts
    away, and its answers fall apart.

    Example: {"objective": {"type": "dpo", "beta": 10}}

    Use instead: {"objective": {"type": "dpo", "beta": 0.1}}
    """
    beta, decided = case.spec.objective.beta, case.plan.decisions.comparison.beta
    if beta == "auto" or decided is None or has_teacher(case.spec.objective.type):
        return
    low, high = _sound_betas(case)
    if low <= beta <= high or beta == 0:  # see FTC567
        return
    objective = case.spec.objective.type
    kind = "low" if beta < low else "odds" if objective == "orpo" else ""
    yield problem(
        "/objective/beta",
        message=kind,
        fix=(put("/objective/beta", "auto"),),
        beta=beta,
        objective=objective,
        low=low,
        high=high,
    )


@rule("FTC560", "unfit-reference", "error")
def unfit_reference(case: Case) -> Iterator[Problem]:
    """What it is: The reference needs an adapter that is not there, or copies a frozen base.

    Why it matters: A full fine-tune changes the weights, so switching off an adapter cannot give
    the original model. With an adapter the base is already in memory and unchanged, so a copy would
    hold the same numbers a second time.

    Example: {"method": "lora", "objective": {"type": "dpo", "reference": "copy"}}

    Use instead: {"method": "lora", "objective": {"type": "dpo", "reference": "adapter_off"}}
    """
    written, full = case.spec.objective.reference, case.spec.method.type in ("full", "freeze")
    if written == "adapter_off" and full:
        yield problem(
            "/objective/reference",
            message="adapter_off",
            help="adapter_off",
            fix=(put("/objective/reference", "auto"),),
            method=case.spec.method.type,
        )
    if written == "copy" and not full:
        yield problem(
            "/objective/reference",
            message="copy",
            help="copy",
            fix=(put("/objective/reference", "adapter_off"),),
            method=case.spec.method.type,
        )


@rule("FTC549", "margin-above-beta", "warning", reads=("plan",), fix_safety="unsafe")
def margin_above_beta(case: Case) -> Iterator[Problem]:
    """What it is: SimPO's target margin is larger than its beta.

    Why it matters: A reward is beta times the mean log-probability of a token. A margin of beta
    asks that each token of the chosen answer be e times as probable as one of the rejected answer.
    The paper (arXiv 2405.14734) tries margins up to beta. With more, no pair is ever told apart
    enough, and the answers become worse.

    Example: {"objective": {"type": "simpo", "margin": 50}}

    Use instead: {"objective": {"type": "simpo", "margin": 1}}
    """
    decided, pointer = case.plan.decisions.comparison, "/objective/margin"
    if decided.margin is None or decided.beta is None or decided.margin.source != "spec":
        return
    margin, beta = decided.margin.value, decided.beta.value
    if margin > beta:
        yield problem(pointer, fix=(put(pointer, "auto"),), margin=margin, beta=beta)


@rule("FTC561", "feedback-pass-of-one-row", "error", reads=("plan",))
def feedback_pass_of_one_row(case: Case) -> Iterator[Problem]:
    """What it is: KTO is set to take one row per process and pass.

    Why it matters: KTO compares each answer with answers to the other prompts of the same pass.
    With one row there are none, and TRL does not start.

    Example: {"objective": "kto", "training": {"micro_batch": 1}}

    Use instead: {"objective": "kto", "training": {"micro_batch": 2}}
    """
    micro = case.plan.decisions.batch.micro_batch.value
    if case.spec.objective.type == "kto" and micro < least_rows(case.spec.objective):
        yield problem(
            "/training/micro_batch"
            if "/training/micro_batch" in case.spec.said
            else "/training/global_batch"
        )
