"""Rules about content of rows that training ignores, or learns literally."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.spec.sources import list_sources

_MARKUP_SHARE = 0.1
_FILES_SHARE = 0.01
_FEWEST_ROWS = 3
_LISTED_SHARE = 0.9


@rule("FTC196", "split-column-ignored", "warning", reads=("data",))
def split_column_ignored(case: Case) -> Iterator[Problem]:
    """What it is: A column of the data says which rows are for training and which for testing.

    Why it matters: ftc ignores this column and makes its own splits. The model therefore trains on
    rows that the column holds out, and its result cannot be compared with others.

    Example: {"data": "rows-with-train-and-test-in-a-column.jsonl"}

    Use instead: {"data": {"source": "rows-for-training.jsonl"}}
    """
    parts = case.data.sources or (case.data,)
    for source, data in zip(list_sources(case.spec.data), parts, strict=False):
        for column, rows in data.contents.split_columns.items():
            yield problem(source.at("source"), name=source.source, column=column, rows=rows)


@rule("FTC197", "markup-in-texts", "warning", reads=("data",))
def markup_in_texts(case: Case) -> Iterator[Problem]:
    """What it is: At least a tenth of the rows have HTML in their texts: tags or entities.

    Why it matters: The texts were copied from pages with their markup. The model learns to write
    tags and entities such as `&amp;`, which also use up tokens. Rows about HTML do not count, and
    neither does code between backticks.

    Example: {"data": "scraped-pages.jsonl"}

    Use instead: {"data": "texts-of-pages.jsonl"}
    """
    held = case.data.contents
    rows = held.foreign.get("markup", 0)
    if rows >= _FEWEST_ROWS and rows >= _MARKUP_SHARE * held.looked_rows:
        yield problem("/data/source", count=rows, rows=held.looked_rows)


@rule("FTC198", "files-in-texts", "warning", reads=("data",))
def files_in_texts(case: Case) -> Iterator[Problem]:
    """What it is: At least one row in a hundred has a file as text, such as an image in base64.

    Why it matters: The model reads base64 as text. It does not see the image, and one image takes
    thousands of tokens.

    Example: {"data": "rows-with-data-urls.jsonl"}

    Use instead: {"data": {"source": "rows.jsonl", "columns": {"images": "image"}}}
    """
    held = case.data.contents
    rows = held.foreign.get("base64", 0)
    if rows >= _FEWEST_ROWS and rows >= _FILES_SHARE * held.looked_rows:
        yield problem("/data/source", count=rows, rows=held.looked_rows)


@rule("FTC199", "weighed-answers", "error", reads=("data",))
def weighed_answers(case: Case) -> Iterator[Problem]:
    """What it is: Answers in the data have weights other than 0 and 1.

    Why it matters: An answer with the weight 0 is read and not learned, and every other answer is
    learned alike. A weight such as 0.5 would have no effect.

    Example: {"data": "rows-with-weight-0.5.jsonl"}

    Use instead: {"data": "rows-with-weights-0-and-1.jsonl"}
    """
    rows = case.data.contents.weighed_rows
    if OBJECTIVES[case.spec.objective.type].masks and rows:
        yield problem("/data/source", rows=rows)


@rule("FTC510", "answers-as-python-lists", "warning", reads=("data",))
def answers_as_python_lists(case: Case) -> Iterator[Problem]:
    """What it is: Nearly all answers are lists as Python shows them, such as `['spam']`.

    Why it matters: Tools for annotation export a label in this form. The model learns to write the
    brackets and the quotation marks, and a label in them is compared with them.

    Example: {"data": {"source": "annotated.csv", "columns": {"prompt": "text", "completion":
     "label.responses"}}}

    Use instead: {"data": {"source": "annotated.csv", "columns": {"prompt": "text", "completion":
     "label"}}}
    """
    held = case.data.contents
    if held.listed_answers >= max(_FEWEST_ROWS, _LISTED_SHARE * held.looked_rows):
        yield problem(
            "/data/source",
            count=held.listed_answers,
            rows=held.looked_rows,
            example=held.listed_example,
        )


@rule("FTC511", "one-message-a-row", "warning", reads=("data",))
def one_message_a_row(case: Case) -> Iterator[Problem]:
    """What it is: Each row is one message of a conversation, and another column says who wrote it.

    Why it matters: Rows of texts are learned one by one. The model learns to write messages, also
    those of users, and never sees what a message answers.

    Example: {"data": "export-of-a-chat.json"}

    Use instead: {"data": "conversations.jsonl"}
    """
    parts = case.data.sources or (case.data,)
    for source, data in zip(list_sources(case.spec.data), parts, strict=False):
        for column in data.contents.speaker_columns[:1]:
            yield problem(source.at("source"), name=source.source, column=column)
