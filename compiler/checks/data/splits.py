"""The rules about splits: held-out rows must exist, and be new to the model."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.data.images import loses_images
from ftc.compiler.checks.data.rows import has_few_rows
from ftc.compiler.checks.data.scores import prompts_are_labels
from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.resolve.facts import DataFacts
from ftc.spec.message import Message

_LEAKED_SHARE = 0.10
_FEWEST_PROBES = 20
_CLUSTER_SHARE = 0.05
_CLUSTER_ROWS = 20
_PROMPT_SHARE = 0.20
_PROMPT_ROWS = 10
_TINY_TEST = 20


def leaked_share(data: DataFacts, train_share: float) -> float:
    """Return the expected share of held-out rows with a near copy among those trained on.

    `prepare.py` draws the splits, so that each of a row's near copies is trained on with the
    probability `train_share`.
    """
    twins = data.twins
    scale = max(1.0, data.usable_rows / twins.compared)
    leaked = (rows * (1 - (1 - train_share) ** (n * scale)) for n, rows in twins.counts)
    return float(sum(leaked)) / twins.probes


def _leaks(case: Case) -> float:
    """Return the share of FTC238 where it is worth a word, else 0."""
    d = case.plan.decisions
    train, held_out = (
        d.splits.train_rows.value,
        d.splits.validation_rows.value + d.splits.test_rows.value,
    )
    if case.data.twins.probes < _FEWEST_PROBES or held_out < 1 or train < 1:
        return 0.0
    share = leaked_share(case.data, train / (train + held_out))
    return share if share >= _LEAKED_SHARE else 0.0


@rule("FTC226", "empty-split", "warning", reads=("data", "plan"))
def empty_split(case: Case) -> Iterator[Problem]:
    """What it is: The validation or the test split will have no rows.

    Why it matters: Without validation no best checkpoint can be chosen; without a test there is no
    measure of the result.

    Example: {"data": {"source": "tickets.csv", "splits": {"test": 0}}}

    Use instead: {"data": {"source": "tickets.csv", "splits": {"test": 0.1}}}
    """
    decisions = case.plan.decisions
    if loses_images(case):
        return
    if case.data.prompts == 1 and case.data.usable_rows > 1:  # see FTC240
        if decisions.splits.validation_rows.value + decisions.splits.test_rows.value == 0:
            yield problem("/data/splits", message="one_prompt", help="one_prompt")
        return
    asked = case.spec.data.splits
    for name, count, share in (
        ("validation", decisions.splits.validation_rows, asked.validation),
        ("test", decisions.splits.test_rows, asked.test),
    ):
        told = share > 0 and has_few_rows(case)
        if count.value == 0 and decisions.splits.train_rows.value > 0 and not told:
            yield problem(f"/data/splits/{name}", split=Message(f"split.{name}"), name=name)


@rule("FTC238", "near-copies-across-splits", "warning", reads=("data", "plan"))
def near_copies_across_splits(case: Case) -> Iterator[Problem]:
    """What it is: Many rows are nearly identical to another row, and splits are drawn by row.

    Why it matters: A result on a held-out row whose near copy was trained on measures memory.
    `prepare.py` never puts rows with the same prompt into two splits, but it treats prompts that
    differ in a name or a number as different prompts.

    Example: {"data": "one-template-filled-in-a-thousand-times.csv"}

    Use instead: {"data": "one-row-of-each-template.csv"}
    """
    share = _leaks(case)
    if share:
        twins = case.data.twins
        yield problem("/data/source", share=share, row=twins.row, count=twins.largest)


@rule("FTC239", "dominating-cluster", "warning", reads=("data", "plan"))
def dominating_cluster(case: Case) -> Iterator[Problem]:
    """What it is: At least one row in twenty is a near copy of the same row.

    Why it matters: Each copy is trained on again, so the model memorises the row and repeats
    it for other prompts.

    Example: {"data": "chats-that-mostly-say-hello.jsonl"}

    Use instead: {"data": "chats-with-one-hello.jsonl"}
    """
    twins = case.data.twins
    share = twins.largest / max(1, twins.compared)
    if twins.largest >= _CLUSTER_ROWS and share >= _CLUSTER_SHARE and not _leaks(case):
        yield problem("/data/source", row=twins.row, count=twins.largest, share=share)


@rule("FTC240", "one-prompt-for-all", "error", reads=("data", "plan"), fix_safety="unsafe")
def one_prompt_for_all(case: Case) -> Iterator[Problem]:
    """What it is: Every row has the same prompt, and rows are to be held out.

    Why it matters: Rows with the same prompt stay in one split, because the test split would repeat
    training rows otherwise. All of them go to training, and `prepare.py` stops because the other
    splits are empty.

    Example: {"data": "a-thousand-poems-for-one-prompt.csv"}

    Use instead: {"data": {"source": "a-thousand-poems-for-one-prompt.csv", "form": "text",
     "columns": {"text": "poem"}}}
    """
    d, data = case.plan.decisions, case.data
    held_out = d.splits.validation_rows.value + d.splits.test_rows.value
    if data.prompts == 1 and data.usable_rows > 1 and held_out and not loses_images(case):
        yield problem(
            "/data/splits",
            help="" if "text" in OBJECTIVES[case.spec.objective.type].forms else "prompts",
            fix=(put("/data/splits/test", 0), put("/data/splits/validation", 0)),
            rows=data.usable_rows,
        )


@rule("FTC241", "dominating-prompt", "warning", reads=("data", "plan"))
def dominating_prompt(case: Case) -> Iterator[Problem]:
    """What it is: At least a fifth of the rows have the same prompt.

    Why it matters: Rows with the same prompt stay in one split. The splits are then far from the
    requested shares, and one prompt has a larger weight than the others.

    Example: {"data": "ten-prompts-with-a-hundred-answers-each.csv"}

    Use instead: {"data": "a-thousand-prompts.csv"}
    """
    data, d = case.data, case.plan.decisions
    share = data.largest_prompt_rows / max(1, data.usable_rows)
    held_out = d.splits.validation_rows.value + d.splits.test_rows.value
    many = data.largest_prompt_rows >= _PROMPT_ROWS and share >= _PROMPT_SHARE
    if loses_images(case) or prompts_are_labels(case):
        return
    if data.prompts > 1 and held_out and many:
        yield problem("/data/source", count=data.largest_prompt_rows, rows=data.usable_rows)


@rule("FTC246", "tiny-test-split", "warning", reads=("data", "plan"))
def tiny_test_split(case: Case) -> Iterator[Problem]:
    """What it is: The test split has fewer than twenty rows.

    Why it matters: One row that is right or wrong by chance changes the result by several points,
    so two runs cannot be compared.

    Example: {"data": {"source": "200-rows.csv", "splits": {"test": 0.02}}}

    Use instead: {"data": {"source": "200-rows.csv", "splits": {"test": 0.2}}}
    """
    d = case.plan.decisions
    test = d.splits.test_rows.value
    if 0 < test < _TINY_TEST and not has_few_rows(case) and not loses_images(case):
        yield problem("/data/splits/test", rows=test, share=1 / test)
