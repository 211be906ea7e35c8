"""The rules about the data (FTC220 to FTC249): enough to learn from, and kept."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.plan.lengths import round_up, share_above

_CUT_SHARE = 0.01
_FEW_ROWS = 50
_FEW_OF_LABEL = 5
_MANY_DUPLICATES = 0.10
_MANY_BLANK = 0.10


def _about(case: Case) -> str:
    return "about " if case.data.lengths.estimate else ""


@rule("FTC220", "estimated-lengths", "warning", reads=("data", "tokenizer"))
def estimated_lengths(case: Case) -> Iterator[Problem]:
    """What it is: The lengths of rows were estimated from characters, not counted in tokens.

    Why it matters: The maximum length, the memory and the time rest on them. `prepare.py` counts,
    and stops if more rows would be cut than planned.

    Example: {"model": "a/model-whose-tokenizer-is-out-of-reach", "data": "tickets.csv"}

    Use instead: {"model": "./a-local-model-folder", "data": "tickets.csv"}
    """
    if case.data.lengths.estimate:
        ratio = case.tokenizer.chars_per_token
        yield Problem(
            message=f"token lengths are estimated, at {ratio:g} characters per token",
            help="compile once where the tokenizer's files can be read",
            pointer="/model/id",
        )


@rule("FTC221", "prompts-fill-length", "error", reads=("model", "data", "plan"))
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

    Why it matters: Those rows keep no token of their answer. `prepare.py` lists them.

    Example: {"data": {"source": "tickets.csv", "max_length": 128}}

    Use instead: {"data": {"source": "tickets.csv", "max_length": 512}}
    """
    length, lengths = case.plan.decisions.max_length.value, case.data.lengths
    enough, context = round_up(lengths.max), case.model.context_tokens
    if lengths.prompt_p95 < length <= lengths.prompt_max:
        yield Problem(
            message=f"the longest prompt has {_about(case)}{lengths.prompt_max:,} tokens and "
            f"`max_length` is {length:,}: some rows lose their whole answer",
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
    if share > _CUT_SHARE:
        what = "dropped" if case.spec.data.cleaning.overlong == "drop" else "cut"
        yield Problem(
            message=f"{_about(case)}{share:.1%} of rows are longer than {length:,} tokens and will "
            f"be {what}",
            help=f"the longest has {_about(case)}{lengths.max:,} tokens, 99 % at most "
            f"{lengths.p99:,}",
            pointer="/data/max_length",
        )


@rule("FTC224", "no-rows-to-train-on", "error", reads=("data", "plan"))
def no_rows_to_train_on(case: Case) -> Iterator[Problem]:
    """What it is: After cleaning and splitting, no row is left for training.

    Why it matters: There is nothing to learn from.

    Example: {"data": "all-blank.csv"}

    Use instead: {"data": "tickets.csv"}
    """
    if case.plan.decisions.train_rows.value < 1:
        data = case.data
        yield Problem(
            message=f"of {data.rows:,} rows {data.usable_rows:,} are usable and none is left to "
            "train on",
            help=f"{data.blank_rows:,} are blank, {data.duplicate_rows:,} duplicate, "
            f"{data.malformed_rows:,} malformed: check `data.columns`",
            pointer="/data/source",
        )


@rule("FTC225", "few-rows", "warning", reads=("data", "plan"))
def few_rows(case: Case) -> Iterator[Problem]:
    """What it is: Fewer than fifty rows are left for training.

    Why it matters: A model memorises so few, and what the test split says of it is chance.

    Example: {"data": "ten-examples.csv"}

    Use instead: {"data": "a-thousand-examples.csv"}
    """
    rows = case.plan.decisions.train_rows.value
    if 1 <= rows < _FEW_ROWS:
        yield Problem(
            message=f"only {rows:,} row{'s are' if rows > 1 else ' is'} left to train on",
            help="some hundreds are needed for a result that holds on new rows",
            pointer="/data/source",
        )


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


@rule("FTC227", "rare-label", "warning", reads=("data",))
def rare_label(case: Case) -> Iterator[Problem]:
    """What it is: A label has fewer than five rows.

    Why it matters: Split three ways, it may be missing from training or from the test.

    Example: {"data": "tickets-with-a-label-seen-once.csv"}

    Use instead: {"data": "tickets-with-that-label-merged-into-other.csv"}
    """
    rare = [label for label in case.data.labels if label.rows < _FEW_OF_LABEL]
    if rare:
        first = min(rare, key=lambda label: (label.rows, label.name))
        names = f"`{first.name}` has {first.rows}"
        more = f", and {len(rare) - 1} more labels have fewer than 5" if len(rare) > 1 else ""
        yield Problem(
            message=f"label {names} row{'s' if first.rows != 1 else ''}{more}",
            help="merge rare labels or collect more rows of them",
            pointer="/data/source",
        )


@rule("FTC228", "single-label", "error", reads=("data",))
def single_label(case: Case) -> Iterator[Problem]:
    """What it is: Every row has the same answer.

    Why it matters: The model learns to say it always, and accuracy is 100 % of nothing.

    Example: {"data": "one-intent-only.csv"}

    Use instead: {"data": "all-intents.csv"}
    """
    if len(case.data.labels) == 1:
        yield Problem(
            message=f"every answer is `{case.data.labels[0].name}`",
            help="check which column holds the answers: `data.columns`",
            pointer="/data/source",
        )


@rule("FTC229", "many-duplicates", "info", reads=("data",))
def many_duplicates(case: Case) -> Iterator[Problem]:
    """What it is: More than one row in ten is a copy of another.

    Why it matters: Copies weigh more than other rows, and would leak from training into the test;
    the bundle removes them unless told otherwise, and never splits them.

    Example: {"data": "exported-twice.csv"}

    Use instead: {"data": "exported-once.csv"}
    """
    data = case.data
    if data.duplicate_rows > _MANY_DUPLICATES * data.rows:
        done = "removed" if case.spec.data.cleaning.drop_duplicates else "kept, in one split each"
        yield Problem(
            message=f"{data.duplicate_rows:,} of {data.rows:,} rows are duplicates",
            help=f"they will be {done}",
            pointer="/data/source",
        )


@rule("FTC230", "misencoded-rows", "info", reads=("data",))
def misencoded_rows(case: Case) -> Iterator[Problem]:
    """What it is: Some rows hold text that was decoded with the wrong encoding, such as `Ã©`.

    Why it matters: A model learns the damage as readily as the language.

    Example: {"data": {"source": "latin1.csv", "cleaning": {"repair_encoding": false}}}

    Use instead: {"data": {"source": "latin1.csv", "cleaning": {"repair_encoding": true}}}
    """
    if case.data.misencoded_rows:
        repairs = case.spec.data.cleaning.repair_encoding
        yield Problem(
            message=f"{case.data.misencoded_rows:,} rows are wrongly encoded",
            help="they will be repaired"
            if repairs
            else "set `data.cleaning.repair_encoding` to repair them",
            pointer="/data/source",
        )


@rule("FTC231", "malformed-rows", "warning", reads=("data",))
def malformed_rows(case: Case) -> Iterator[Problem]:
    """What it is: Some rows do not have the form of the others: a missing answer, a wrong role.

    Why it matters: They cannot be learned and will be left out; many of them mean that the form or
    the columns were mistaken.

    Example: {"data": "half-broken.jsonl"}

    Use instead: {"data": "checked.jsonl"}
    """
    malformed, rows = case.data.malformed_rows, case.data.rows
    if malformed:
        yield Problem(
            message=f"{malformed:,} of {rows:,} rows are malformed and will be left out",
            help="the data report of `prepare.py` lists them",
            pointer="/data/source",
        )


@rule("FTC237", "many-blank-rows", "warning", reads=("data",))
def many_blank_rows(case: Case) -> Iterator[Problem]:
    """What it is: More than one row in ten lacks a text that its form needs.

    Why it matters: Such a row cannot be learned and is left out; so many of them mean that a column
    is half filled in, or is the wrong one.

    Example: {"data": "half-labelled.csv"}

    Use instead: {"data": "labelled.csv"}
    """
    blank, rows = case.data.blank_rows, case.data.rows
    if blank > _MANY_BLANK * rows:
        yield Problem(
            message=f"{blank:,} of {rows:,} rows are blank and will be left out",
            help="fill in their texts, or check which column is which in `data.columns`",
            pointer="/data/source",
        )


@rule("FTC232", "stratify-without-labels", "error", reads=("data",))
def stratify_without_labels(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for stratified splits, and the answers are not labels.

    Why it matters: There is nothing to stratify by.

    Example: {"data": {"source": "essays.jsonl", "splits": {"stratify": true}}}

    Use instead: {"data": "essays.jsonl"}
    """
    if case.spec.data.splits.stratify is True and not case.data.labels:
        yield Problem(
            message="`stratify` needs labels, and the answers are not a closed set",
            help='leave it out, or set it to "auto"',
            pointer="/data/splits/stratify",
            fix=(put("/data/splits/stratify", "auto"),),
        )


@rule("FTC233", "accuracy-without-labels", "warning", reads=("data",))
def accuracy_without_labels(case: Case) -> Iterator[Problem]:
    """What it is: The metric is accuracy, and the answers are free text.

    Why it matters: A free answer counts as right only if it is letter for letter the expected one.

    Example: {"data": "essays.jsonl", "training": {"evaluation": {"metric": "accuracy"}}}

    Use instead: {"data": "essays.jsonl"}
    """
    if case.spec.training.evaluation.metric == "accuracy" and not case.data.labels:
        yield Problem(
            message="the metric is accuracy, and the answers are not a closed set of labels",
            help="expect a low number, or leave the metric out",
            pointer="/training/evaluation/metric",
        )


@rule("FTC234", "completion-loss-on-plain-text", "warning", reads=("data",))
def completion_loss_on_plain_text(case: Case) -> Iterator[Problem]:
    """What it is: The loss is asked for on completions, and the data is plain text.

    Why it matters: Plain text has no prompt to leave out: every token is learned.

    Example: {"data": {"source": "book.jsonl", "form": "text"},
     "objective": {"type": "sft", "loss_on": "completion"}}

    Use instead: {"data": {"source": "book.jsonl", "form": "text"},
     "objective": {"type": "sft", "loss_on": "all"}}
    """
    said = "/objective/loss_on" in case.spec.said and case.spec.objective.loss_on == "completion"
    if said and case.data.form == "text":
        yield Problem(
            message="plain text has no completions: the loss is on every token",
            help="use `all`, or name the prompt and completion columns",
            pointer="/objective/loss_on",
            fix=(put("/objective/loss_on", "all"),),
        )


@rule("FTC235", "system-message-on-plain-text", "warning", reads=("data",))
def system_message_on_plain_text(case: Case) -> Iterator[Problem]:
    """What it is: The spec has a system message, and the data is plain text.

    Why it matters: There is no conversation to put it at the head of: nothing reads it.

    Example: {"data": {"source": "book.jsonl", "form": "text", "system": "Be brief."}}

    Use instead: {"data": {"source": "book.jsonl", "form": "text"}}
    """
    if case.spec.data.system is not None and case.data.form == "text":
        yield Problem(
            message="plain text has no conversation for a system message",
            help="remove it, or use data with prompts and answers",
            pointer="/data/system",
            fix=({"op": "remove", "path": "/data/system"},),
        )


@rule("FTC236", "hub-option-on-file", "warning", reads=("data",))
def hub_option_on_file(case: Case) -> Iterator[Problem]:
    """What it is: A field about data sets of the Hub is set, and the data is a local file.

    Why it matters: A file has no revision, subset or split: nothing reads the field.

    Example: {"data": {"source": "tickets.csv", "split": "test"}}

    Use instead: {"data": "tickets.csv"}
    """
    if case.data.origin != "file":
        return
    for field in ("revision", "subset", "split"):
        if f"/data/{field}" in case.spec.said:
            yield Problem(
                message=f"a local file has no {field}: `data.{field}` is not read",
                help="remove it",
                pointer=f"/data/{field}",
                fix=({"op": "remove", "path": f"/data/{field}"},),
            )
