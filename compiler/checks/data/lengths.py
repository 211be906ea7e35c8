"""The rules about lengths: rows that are cut, and rows that set the memory."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.batch.lengths import round_up, share_above
from ftc.compiler.resolve.facts import Lengths
from ftc.spec.message import Message

_CUT_SHARE = 0.01
_OUTLIER = 4  # times the 95th percentile
_LONG_TOKENS = 1024
_FAR_BEYOND = 4


def _tokens(case: Case, count: int) -> int | Message:
    """Return a number of tokens, as an estimate where it is one."""
    return Message("phrase.about", {"number": count}) if case.data.lengths.estimate else count


def _loss(case: Case) -> str:
    """Return what becomes of rows that are too long: a variant of a message."""
    return "dropped" if case.spec.data.cleaning.overlong == "drop" else ""


def prompts_fill(case: Case) -> bool:
    """Return whether FTC221 reports that too many prompts fill `max_length`."""
    length = case.plan.decisions.rows.max_length.value
    return case.data.lengths.prompt_p95 >= length and case.data.form != "prompt"


def _nothing_is_left(case: Case) -> bool:
    """Return whether FTC224 reports that there are no rows to train on."""
    return case.plan.decisions.splits.train_rows.value < 1


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

    Why it matters: The maximum length, the memory and the time depend on them. `prepare.py` counts
    the tokens, and stops if more rows would be cut than planned.

    Example: {"model": "a/model-whose-tokenizer-is-out-of-reach", "data": "tickets.csv"}

    Use instead: {"model": "./a-local-model-folder", "data": "tickets.csv"}
    """
    # of a model from the table FTC123 says it all
    if case.data.lengths.estimate and case.model.origin != "table":
        ratio = case.tokenizer.chars_per_token
        yield problem("/model/id", ratio=ratio)


@rule(
    "FTC221", "prompts-fill-length", "error", reads=("model", "data", "plan"), fix_safety="unsafe"
)
def prompts_fill_length(case: Case) -> Iterator[Problem]:
    """What it is: At least one prompt in twenty is as long as `max_length`.

    Why it matters: Such a row keeps no token of its answer: it is dropped, or the model learns
    nothing from it.

    Example: {"data": {"source": "long-documents.jsonl", "max_length": 128}}

    Use instead: {"data": "long-documents.jsonl"}
    """
    length, lengths = case.plan.decisions.rows.max_length.value, case.data.lengths
    if not prompts_fill(case):
        return
    enough = min(round_up(lengths.max), case.model.context_tokens)
    helps = enough > lengths.prompt_p95
    yield problem(
        "/data/max_length",
        help="" if helps else "context",
        fix=(put("/data/max_length", enough),) if helps else (),
        prompt=_tokens(case, lengths.prompt_p95),
        length=length,
        enough=enough,
        context=case.model.context_tokens,
    )


@rule("FTC222", "longest-prompt-fills-length", "warning", reads=("model", "data", "plan"))
def longest_prompt_fills_length(case: Case) -> Iterator[Problem]:
    """What it is: At least one prompt is as long as `max_length`, but few are.

    Why it matters: Those rows keep no token of their answer. `prepare.py` lists them. Trainers that
    cut rows silently report a loss of 0.0 for such a batch (SimPO #35, trl #6668).

    Example: {"data": {"source": "tickets.csv", "max_length": 128}}

    Use instead: {"data": {"source": "tickets.csv", "max_length": 512}}
    """
    length, lengths = case.plan.decisions.rows.max_length.value, case.data.lengths
    enough, context = round_up(lengths.max), case.model.context_tokens
    if prompts_fill(case) or _nothing_is_left(case):
        return
    if length <= lengths.prompt_max and case.data.form != "prompt":
        share = _share_filling(lengths, length)
        yield problem(
            "/data/max_length",
            message=_loss(case),
            help="" if enough <= context else "context",
            prompt=_tokens(case, lengths.prompt_max),
            length=length,
            share=share,
            longer=max(share, share_above(lengths, length)),
            enough=enough,
            context=context,
        )


@rule("FTC223", "rows-cut", "warning", reads=("model", "data", "plan"))
def rows_cut(case: Case) -> Iterator[Problem]:
    """What it is: More than one row in a hundred is longer than `max_length`.

    Why it matters: A row that is cut loses the end of its answer; a row that is dropped is not
    trained on.

    Example: {"data": {"source": "tickets.csv", "max_length": 64}}

    Use instead: {"data": "tickets.csv"}
    """
    length, lengths = case.plan.decisions.rows.max_length.value, case.data.lengths
    share = share_above(lengths, length)
    if _nothing_is_left(case) or (lengths.prompt_max >= length and case.data.form != "prompt"):
        return  # FTC221, FTC222 and FTC224 say what becomes of the rows
    if share > _CUT_SHARE and not _splits(case):
        estimated = Message("phrase.about_share", {"share": share})
        context = case.model.context_tokens
        yield problem(
            "/data/max_length",
            message=_loss(case),
            help="" if lengths.max <= context else "context",
            share=estimated if lengths.estimate else share,
            length=length,
            longest=_tokens(case, lengths.max),
            most=lengths.p99,
            enough=min(round_up(lengths.max), context),
            context=context,
        )


@rule("FTC250", "outliers-set-memory", "warning", reads=("data", "hardware", "plan"))
def outliers_set_memory(case: Case) -> Iterator[Problem]:
    """What it is: A few rows are many times as long as the others, and set the micro-batch to one.

    Why it matters: The micro-batch must fit the longest row, so a few rows slow down the training
    on all others (trl #2452, LLaMA-Factory #5545).

    Example: {"data": "chats-with-one-novel.jsonl", "hardware": "1x RTX-4090"}

    Use instead: {"data": {"source": "chats-with-one-novel.jsonl", "max_length": 1024},
     "hardware": "1x RTX-4090"}
    """
    d, lengths = case.plan.decisions, case.data.lengths
    length = d.rows.max_length.value
    # one row at a time because no more fit, and not because one is fastest
    tight = d.batch.micro_batch.because.key in ("micro_batch.only", "micro_batch.tight")
    if _splits(case) or case.hardware.kind == "cpu" or case.plan.memory.fits is False or not tight:
        return
    if length >= max(_LONG_TOKENS, _OUTLIER * lengths.p95) and d.rows.max_length.source != "spec":
        enough = round_up(lengths.p95)
        yield problem(
            "/data/max_length",
            usual=_tokens(case, lengths.p50),
            most=lengths.p95,
            length=length,
            enough=enough,
            share=share_above(lengths, enough),
        )


@rule("FTC252", "length-beyond-data", "info", reads=("model", "data", "plan"))
def length_beyond_data(case: Case) -> Iterator[Problem]:
    """What it is: `max_length` is several times the longest row.

    Why it matters: Rows are padded only to the longest of their batch, so the setting changes no
    row, and memory is planned for the longest row. A run on other data (`--data`) could have longer
    ones, which do not fit. Nothing is said where lengths are estimates, which may be too low, or
    where rows are packed, as packed rows are as long as `max_length` at the least.

    Example: {"data": {"source": "short-questions.csv", "max_length": 32768}}

    Use instead: {"data": "short-questions.csv"}
    """
    length, longest = case.spec.data.max_length, case.data.lengths.max
    packed = case.plan.decisions.rows.packing.value == "best-fit"
    if case.data.lengths.estimate or packed or length == "auto":
        return
    if length > case.model.context_tokens:
        return  # FTC124 says so
    if length >= _FAR_BEYOND * round_up(longest):
        yield problem(
            "/data/max_length",
            fix=(put("/data/max_length", "auto"),),
            length=length,
            longest=longest,
            enough=round_up(longest),
        )


@rule("FTC254", "sampled-data", "info", reads=("data",))
def sampled_data(case: Case) -> Iterator[Problem]:
    """What it is: The data is large, and only a sample of it was measured.

    Why it matters: All rows are read, counted and compared for exact copies. Lengths, near copies
    and languages come from rows drawn with a fixed seed, so the longest row may be longer.
    `prepare.py` counts every row.

    Example: {"data": "two-gigabytes.jsonl"}

    Use instead: {"data": {"source": "two-gigabytes.jsonl", "max_rows": 50000}}
    """
    data = case.data
    if data.sampled_rows < data.rows:
        yield problem("/data/source", sampled=data.sampled_rows, rows=data.rows)
