"""The rules about rows: enough of them, whole, and undamaged."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, rule
from ftc.compiler.knowledge.models import find_model

_FEW_ROWS = 50
_MUCH = 0.30
_MANY_DUPLICATES = 0.10
_MANY_BLANK = 0.10
_FAULTS = {
    "unreadable": "cannot be read as a row of the table",
    "not_text": "hold a list or an object where text belongs",
    "not_whole": "hold half of a character (an unpaired surrogate), which no encoding has",
    "no_list": "hold no list of messages",
    "no_turn": "have a message without a known role or without text",
    "order": "have roles out of order",
    "unanswered": "do not end with the assistant",
    "refused": "are refused by the chat template",
    "no_prompt": "have answers and no prompt",
    "two_prompts": "have answers to two prompts",
    "no_label": "have a label that says neither good nor bad",
    "no_tools": "hold no list of tools",
    "same_answers": "have the chosen answer as the rejected one too",
}


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
    damaged = case.data.misencoded_rows - case.data.lost_rows
    if damaged > 0:
        repairs = case.spec.data.cleaning.repair_encoding
        yield Problem(
            message=f"{damaged:,} rows are wrongly encoded",
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
        often = sorted(case.data.faults.items(), key=lambda item: (-item[1], item[0]))
        reasons = "; ".join(f"{count:,} {_FAULTS[fault]}" for fault, count in often)
        yield Problem(
            message=f"{malformed:,} of {rows:,} rows are malformed and will be left out",
            help=f"{reasons}; the data report of `prepare.py` lists them"
            if reasons
            else "the data report of `prepare.py` lists them",
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


@rule("FTC247", "lost-characters", "warning", reads=("data",))
def lost_characters(case: Case) -> Iterator[Problem]:
    """What it is: Some rows hold U+FFFD, which stands where a character could not be decoded.

    Why it matters: The character is gone, and no repair brings it back: the model learns to write
    the sign. It comes from an export in another encoding than the file's.

    Example: {"data": "export-with-question-mark-diamonds.csv"}

    Use instead: {"data": "the-same-export-in-utf-8.csv"}
    """
    data = case.data
    if data.lost_rows:
        yield Problem(
            message=f"{data.lost_rows:,} of {data.rows:,} rows have characters that are lost "
            "(U+FFFD)",
            help="export the data again in UTF-8, or remove those rows",
            pointer="/data/source",
        )


@rule("FTC248", "control-characters", "warning", reads=("data",))
def control_characters(case: Case) -> Iterator[Problem]:
    """What it is: Some rows hold control characters: NUL, escape sequences, a byte order mark.

    Why it matters: They are invisible in most editors, cost tokens, and are learned like any other
    text; a terminal that prints the model's answer obeys them.

    Example: {"data": "terminal-log.jsonl"}

    Use instead: {"data": "log-without-escape-sequences.jsonl"}
    """
    data = case.data
    if data.control_rows:
        yield Problem(
            message=f"{data.control_rows:,} of {data.rows:,} rows hold control characters",
            help="remove every character below U+0020 but tab and line ends, U+007F and U+FEFF",
            pointer="/data/source",
        )


@rule("FTC251", "limit-beyond-rows", "info", reads=("data",))
def limit_beyond_rows(case: Case) -> Iterator[Problem]:
    """What it is: `data.max_rows` is more than the rows that cleaning leaves.

    Why it matters: It limits nothing. Whoever reads the spec expects so many rows and there are
    fewer.

    Example: {"data": {"source": "300-rows.csv", "max_rows": 10000}}

    Use instead: {"data": "300-rows.csv"}
    """
    most, usable = case.spec.data.max_rows, case.data.usable_rows
    if most is not None and most > usable and case.data.streamed_rows is None:
        yield Problem(
            message=f"`max_rows` is {most:,}, and {usable:,} rows are usable",
            help="remove it",
            pointer="/data/max_rows",
            fix=({"op": "remove", "path": "/data/max_rows"},),
        )


@rule("FTC255", "language-new-to-model", "info", reads=("model", "data"))
def language_new_to_model(case: Case) -> Iterator[Problem]:
    """What it is: Much of the data is in a language that the model's authors do not name.

    Why it matters: A fine-tune teaches a task, hardly a language: answers in one that the base
    hardly read stay clumsy, and its tokenizer cuts that language into more tokens.

    Example: {"model": "TinyLlama/TinyLlama-1.1B-Chat-v1.0", "data": "basque-chats.jsonl"}

    Use instead: {"model": "BSC-LT/salamandra-2b-instruct", "data": "basque-chats.jsonl"}
    """
    entry = find_model(case.model.id)
    if entry is None or not entry.languages:
        return
    for code, share in case.data.languages.items():
        if share >= _MUCH and code not in entry.languages:
            named = ", ".join(f"`{known}`" for known in entry.languages[:8])
            yield Problem(
                message=f"{share:.0%} of rows look like `{code}`, which is not among the languages "
                f"that {entry.id} names",
                help=f"it names {named}; compare with a model that knows `{code}`",
                pointer="/model/id",
            )
