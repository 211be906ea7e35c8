"""The rules about splits: what is held out must be there, and be new to the model."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.resolve.facts import DataFacts

_LEAKED_SHARE = 0.10
_FEWEST_PROBES = 20
_CLUSTER_SHARE = 0.05
_CLUSTER_ROWS = 20
_PROMPT_SHARE = 0.20
_PROMPT_ROWS = 10
_TINY_TEST = 20
_FEW_ROWS = 50


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
    train, held_out = d.train_rows.value, d.validation_rows.value + d.test_rows.value
    if case.data.twins.probes < _FEWEST_PROBES or held_out < 1 or train < 1:
        return 0.0
    share = leaked_share(case.data, train / (train + held_out))
    return share if share >= _LEAKED_SHARE else 0.0


@rule("FTC226", "empty-split", "warning", reads=("data", "plan"))
def empty_split(case: Case) -> Iterator[Problem]:
    """What it is: The validation or the test split will hold no row.

    Why it matters: Without validation no best checkpoint can be chosen; without a test nothing
    says what the result is worth.

    Example: {"data": {"source": "tickets.csv", "splits": {"test": 0}}}

    Use instead: {"data": {"source": "tickets.csv", "splits": {"test": 0.1}}}
    """
    decisions = case.plan.decisions
    for name, count in (
        ("validation", decisions.validation_rows),
        ("test", decisions.test_rows),
    ):
        if count.value == 0 and decisions.train_rows.value > 0:
            yield Problem(
                message=f"the {name} split holds no row",
                help=f"set `data.splits.{name}` to about 0.1, or bring more rows",
                pointer=f"/data/splits/{name}",
            )


@rule("FTC238", "near-copies-across-splits", "warning", reads=("data", "plan"))
def near_copies_across_splits(case: Case) -> Iterator[Problem]:
    """What it is: Many rows differ from another one by hardly a word, and splits are drawn by row.

    Why it matters: What is measured on a held-out row whose twin was trained on is memory.
    `prepare.py` never puts rows with one prompt into two splits, but prompts that differ in a name
    or a number are two prompts to it.

    Example: {"data": "one-template-filled-in-a-thousand-times.csv"}

    Use instead: {"data": "one-row-of-each-template.csv"}
    """
    share = _leaks(case)
    if share:
        twins = case.data.twins
        yield Problem(
            message=f"about {share:.0%} of held-out rows will have a near copy in the training "
            "split, and look easier than new rows are",
            help=f"row {twins.row:,} has {twins.largest:,} near copies, for one: keep one row of "
            "each kind, or bring test rows of another source",
            pointer="/data/source",
        )


@rule("FTC239", "dominating-cluster", "warning", reads=("data", "plan"))
def dominating_cluster(case: Case) -> Iterator[Problem]:
    """What it is: One row in twenty or more is a near copy of one and the same row.

    Why it matters: That row weighs as much as all its copies: the model learns it by heart and
    repeats it where others belong.

    Example: {"data": "chats-that-mostly-say-hello.jsonl"}

    Use instead: {"data": "chats-with-one-hello.jsonl"}
    """
    twins = case.data.twins
    share = twins.largest / max(1, twins.compared)
    if twins.largest >= _CLUSTER_ROWS and share >= _CLUSTER_SHARE and not _leaks(case):
        yield Problem(
            message=f"row {twins.row:,} has {twins.largest:,} near copies, {share:.0%} of the rows",
            help="keep a few of them",
            pointer="/data/source",
        )


@rule("FTC240", "one-prompt-for-all", "error", reads=("data", "plan"), fix_safety="unsafe")
def one_prompt_for_all(case: Case) -> Iterator[Problem]:
    """What it is: Every row has the same prompt, and rows are to be held out.

    Why it matters: Rows with one prompt stay together, or the test would ask what was trained on.
    All of them go to training, and `prepare.py` stops since the other splits are empty.

    Example: {"data": "a-thousand-poems-for-one-prompt.csv"}

    Use instead: {"data": {"source": "a-thousand-poems-for-one-prompt.csv", "form": "text",
     "columns": {"text": "poem"}}}
    """
    d, data = case.plan.decisions, case.data
    held_out = d.validation_rows.value + d.test_rows.value
    if data.prompts == 1 and data.usable_rows > 1 and held_out:
        yield Problem(
            message=f"all {data.usable_rows:,} rows have one prompt, and can only be in one split",
            help="train on the answers as plain text (`data.form`), or hold nothing out",
            pointer="/data/splits",
            fix=(put("/data/splits/test", 0), put("/data/splits/validation", 0)),
        )


@rule("FTC241", "dominating-prompt", "warning", reads=("data", "plan"))
def dominating_prompt(case: Case) -> Iterator[Problem]:
    """What it is: One prompt has a fifth of the rows or more.

    Why it matters: Rows with one prompt stay in one split, so that the splits are far from the
    shares that were asked for, and one question weighs more than all others.

    Example: {"data": "ten-prompts-with-a-hundred-answers-each.csv"}

    Use instead: {"data": "a-thousand-prompts.csv"}
    """
    data, d = case.data, case.plan.decisions
    share = data.largest_prompt_rows / max(1, data.usable_rows)
    held_out = d.validation_rows.value + d.test_rows.value
    many = data.largest_prompt_rows >= _PROMPT_ROWS and share >= _PROMPT_SHARE
    if data.prompts > 1 and held_out and many:
        yield Problem(
            message=f"{data.largest_prompt_rows:,} of {data.usable_rows:,} rows have one prompt, "
            "and stay in one split",
            help="bring more prompts, or fewer answers to that one",
            pointer="/data/source",
        )


@rule("FTC246", "tiny-test-split", "warning", reads=("data", "plan"))
def tiny_test_split(case: Case) -> Iterator[Problem]:
    """What it is: The test split has fewer than twenty rows.

    Why it matters: One row more or less is right by chance, and moves the result by several points:
    two runs cannot be told apart.

    Example: {"data": {"source": "200-rows.csv", "splits": {"test": 0.02}}}

    Use instead: {"data": {"source": "200-rows.csv", "splits": {"test": 0.2}}}
    """
    d = case.plan.decisions
    test, train = d.test_rows.value, d.train_rows.value
    if 0 < test < _TINY_TEST and train >= _FEW_ROWS:
        yield Problem(
            message=f"the test split has {test} row{'s' if test > 1 else ''}: each one moves the "
            f"result by {1 / test:.0%}",
            help="raise `data.splits.test`, or bring more rows",
            pointer="/data/splits/test",
        )
