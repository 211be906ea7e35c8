"""The rules about lengths: rows that are cut, and rows that set the memory."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.lengths import round_up, share_above
from ftc.compiler.resolve.facts import Lengths

_CUT_SHARE = 0.01
_OUTLIER = 4  # times the 95th percentile
_LONG_TOKENS = 1024
_FAR_BEYOND = 4


def _about(case: Case) -> str:
    return "about " if case.data.lengths.estimate else ""


def _splits(case: Case) -> bool:
    """Whether long rows are split into pieces, so that nothing of them is lost."""
    return OBJECTIVES[case.spec.objective.type].splits


def _share_filling(lengths: Lengths, tokens: int) -> float:
    """Return the share of prompts of `tokens` or more, read off the histogram: never too low.

    A bin counts in full; the percentiles say how much of it that can be at most.
    """
    rows = sum(rows for edge, rows in lengths.prompt_histogram if edge >= tokens)
    at_most = 0.01 if tokens > lengths.p99 else 0.05 if tokens > lengths.prompt_p95 else 1.0
    return min(at_most, rows / sum(rows for _, rows in lengths.prompt_histogram))


@rule("FTC220", "estimated-lengths", "warning", reads=("model", "data", "tokenizer"))
def estimated_lengths(case: Case) -> Iterator[Problem]:
    """What it is: The lengths of rows were estimated from characters, not counted in tokens.

    Why it matters: The maximum length, the memory and the time rest on them. `prepare.py` counts,
    and stops if more rows would be cut than planned.

    Example: {"model": "a/model-whose-tokenizer-is-out-of-reach", "data": "tickets.csv"}

    Use instead: {"model": "./a-local-model-folder", "data": "tickets.csv"}
    """
    # of a model from the table FTC123 says it all
    if case.data.lengths.estimate and case.model.origin != "table":
        ratio = case.tokenizer.chars_per_token
        yield Problem(
            message=f"token lengths are estimated, at {ratio:g} characters per token",
            help="compile once where the tokenizer's files can be read",
            pointer="/model/id",
        )


@rule(
    "FTC221", "prompts-fill-length", "error", reads=("model", "data", "plan"), fix_safety="unsafe"
)
def prompts_fill_length(case: Case) -> Iterator[Problem]:
    """What it is: The prompts of one row in twenty or more are as long as `max_length`.

    Why it matters: Such a row keeps no token of its answer: it teaches nothing, or is dropped.

    Example: {"data": {"source": "long-documents.jsonl", "max_length": 128}}

    Use instead: {"data": "long-documents.jsonl"}
    """
    length, lengths = case.plan.decisions.max_length.value, case.data.lengths
    if lengths.prompt_p95 < length:
        return
    enough = min(round_up(lengths.max), case.model.context_tokens)
    helps = enough > lengths.prompt_p95
    yield Problem(
        message=f"5 % of prompts have {_about(case)}{lengths.prompt_p95:,} tokens or more, and "
        f"`max_length` is {length:,}: their answers would be cut away",
        help=f"use {enough:,}" if helps else "use a model with more context, or shorter prompts",
        pointer="/data/max_length",
        fix=(put("/data/max_length", enough),) if helps else (),
    )


@rule("FTC222", "longest-prompt-fills-length", "warning", reads=("model", "data", "plan"))
def longest_prompt_fills_length(case: Case) -> Iterator[Problem]:
    """What it is: At least one prompt is as long as `max_length`, though few are.

    Why it matters: Those rows keep no token of their answer. `prepare.py` lists them. Trainers that
    cut in silence report a loss of 0.0 for such a batch (SimPO #35, trl #6668).

    Example: {"data": {"source": "tickets.csv", "max_length": 128}}

    Use instead: {"data": {"source": "tickets.csv", "max_length": 512}}
    """
    length, lengths = case.plan.decisions.max_length.value, case.data.lengths
    enough, context = round_up(lengths.max), case.model.context_tokens
    if lengths.prompt_p95 < length <= lengths.prompt_max:
        share = _share_filling(lengths, length)
        yield Problem(
            message=f"the longest prompt has {_about(case)}{lengths.prompt_max:,} tokens and "
            f"`max_length` is {length:,}: up to {share:.1%} of rows lose their whole answer",
            help=f"use {enough:,} to keep every row"
            if enough <= context
            else f"shorten the rows: the model's context ends at {context:,} tokens",
            pointer="/data/max_length",
        )


@rule("FTC223", "rows-cut", "warning", reads=("data", "plan"))
def rows_cut(case: Case) -> Iterator[Problem]:
    """What it is: More than one row in a hundred is longer than `max_length`.

    Why it matters: A cut row loses the end of its answer, a dropped one is not learned at all.

    Example: {"data": {"source": "tickets.csv", "max_length": 64}}

    Use instead: {"data": "tickets.csv"}
    """
    length, lengths = case.plan.decisions.max_length.value, case.data.lengths
    share = share_above(lengths, length)
    if share > _CUT_SHARE and not _splits(case):
        what = "dropped" if case.spec.data.cleaning.overlong == "drop" else "cut"
        yield Problem(
            message=f"{_about(case)}{share:.1%} of rows are longer than {length:,} tokens and will "
            f"be {what}",
            help=f"the longest has {_about(case)}{lengths.max:,} tokens, 99 % at most "
            f"{lengths.p99:,}",
            pointer="/data/max_length",
        )


@rule("FTC250", "outliers-set-memory", "warning", reads=("data", "hardware", "plan"))
def outliers_set_memory(case: Case) -> Iterator[Problem]:
    """What it is: A few rows are many times as long as the others, and memory allows one at a time.

    Why it matters: The micro-batch must hold the longest row, so that one row in twenty decides how
    fast all others are learned (trl #2452, LLaMA-Factory #5545).

    Example: {"data": "chats-with-one-novel.jsonl", "hardware": "1x RTX-4090"}

    Use instead: {"data": {"source": "chats-with-one-novel.jsonl", "max_length": 1024},
     "hardware": "1x RTX-4090"}
    """
    d, lengths = case.plan.decisions, case.data.lengths
    length = d.max_length.value
    # one row at a time because no more fit, and not because one is fastest
    tight = d.micro_batch.because.key in ("micro_batch.only", "micro_batch.tight")
    if _splits(case) or case.hardware.kind == "cpu" or case.plan.memory.fits is False or not tight:
        return
    if length >= max(_LONG_TOKENS, _OUTLIER * lengths.p95) and d.max_length.source != "spec":
        enough = round_up(lengths.p95)
        yield Problem(
            message=f"{_about(case)}{lengths.p50:,} tokens are usual, 95 % of rows have at most "
            f"{lengths.p95:,}, and memory is taken by rows of up to {length:,}",
            help=f"a `data.max_length` of {enough:,} would cut {share_above(lengths, enough):.1%} "
            "of rows and leave room for a larger micro-batch",
            pointer="/data/max_length",
        )


@rule("FTC252", "length-beyond-data", "info", reads=("model", "data"))
def length_beyond_data(case: Case) -> Iterator[Problem]:
    """What it is: `max_length` is several times the longest row.

    Why it matters: Rows are padded to the longest of their batch, so that nothing is longer for it;
    but memory is planned for rows that do not exist, and the micro-batch is smaller than need be.

    Example: {"data": {"source": "short-questions.csv", "max_length": 32768}}

    Use instead: {"data": "short-questions.csv"}
    """
    length, longest = case.spec.data.max_length, case.data.lengths.max
    if length == "auto" or length > case.model.context_tokens:
        return
    if length >= _FAR_BEYOND * round_up(longest):
        yield Problem(
            message=f"`max_length` is {length:,} tokens and the longest row has {_about(case)}"
            f"{longest:,}",
            help=f"leave it out: {round_up(longest):,} hold every row",
            pointer="/data/max_length",
            fix=(put("/data/max_length", "auto"),),
        )


@rule("FTC254", "sampled-data", "info", reads=("data",))
def sampled_data(case: Case) -> Iterator[Problem]:
    """What it is: The data is large, and a part of it stands for the whole.

    Why it matters: Rows are all read, counted and compared for exact copies. Lengths, near copies
    and languages are those of rows drawn with a fixed seed; the longest of the others may be
    longer. `prepare.py` counts every row.

    Example: {"data": "two-gigabytes.jsonl"}

    Use instead: {"data": {"source": "two-gigabytes.jsonl", "max_rows": 50000}}
    """
    data = case.data
    if data.sampled_rows < data.rows:
        yield Problem(
            message=f"lengths and near copies are those of {data.sampled_rows:,} of {data.rows:,} "
            "rows",
            help="nothing to do: `prepare.py` counts every row, and stops if the plan was far off",
            pointer="/data/source",
        )
